// Starts the real thing, ./run.sh, with everything of its own, and ends it.

import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export const TOP = resolve(dirname(fileURLToPath(import.meta.url)), '../../..')

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms))

export async function freePort() {
  const server = createServer()
  await new Promise((done, failed) => server.once('error', failed).listen(0, '127.0.0.1', done))
  const { port } = server.address()
  await new Promise((done) => server.close(done))
  return port
}

/** Waits until check() gives something true, and returns that. */
export async function until(what, check, ms = 20000) {
  const end = Date.now() + ms
  for (;;) {
    const value = await check()
    if (value) return value
    if (Date.now() > end) throw new Error(`${what}: not within ${ms} ms`)
    await sleep(20)
  }
}

function readable(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Processes whose command line, working directory, environment or open files name a path. */
export function processesUnder(path) {
  const found = []
  for (const pid of readdirSync('/proc').filter((n) => /^\d+$/.test(n))) {
    const dir = `/proc/${pid}`
    let links = []
    try {
      links = [`${dir}/cwd`, ...readdirSync(`${dir}/fd`).map((n) => `${dir}/fd/${n}`)].map((l) => {
        try {
          return readlinkSync(l)
        } catch {
          return ''
        }
      })
    } catch {
      // gone, or somebody else's
    }
    const texts = [readable(`${dir}/cmdline`), readable(`${dir}/environ`), ...links]
    if (Number(pid) !== process.pid && texts.some((t) => t.includes(path))) {
      found.push({ pid: Number(pid), command: texts[0].replaceAll('\0', ' ').trim() })
    }
  }
  return found
}

/** Kills them, until none is left. */
export async function endProcesses(path) {
  for (let i = 0; i < 50; i++) {
    const left = processesUnder(path)
    if (left.length === 0) break
    for (const { pid } of left) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // already gone
      }
    }
    await sleep(50)
  }
}

/** An nginx at this.url, with its directory: requests, and what became of its workers. */
export class Server {
  killed = new Set()

  get chat() {
    return `${this.url}/api/chat`
  }

  log() {
    return readable(join(this.dir, 'logs/error.log'))
  }

  /** What nginx must never say; that a worker is gone which a test killed is no complaint. */
  errors() {
    return this.log().split('\n')
      .filter((l) => /\[(alert|emerg)\]|ERROR: \w+Sanitizer|: runtime error: /.test(l))
      .filter((l) => !this.killed.has(Number(l.match(/worker process (\d+) exited on signal 9$/)?.[1])))
      .slice(0, 10)
  }

  killWorkers() {
    for (const pid of this.workers()) {
      this.killed.add(pid)
      process.kill(pid, 'SIGKILL')
    }
  }

  workers() {
    return this.#workers(/^nginx: worker process(?! is shutting)/)
  }

  /** Those of older generations. */
  leaving() {
    return this.#workers(/^nginx: worker process is shutting/)
  }

  #workers(title) {
    const master = Number(readable(join(this.dir, 'nginx.pid')))
    return readdirSync('/proc')
      .filter((n) => /^\d+$/.test(n))
      .filter((pid) => readable(`/proc/${pid}/stat`).match(/\) \S (\d+)/)?.[1] === String(master))
      .filter((pid) => title.test(readable(`/proc/${pid}/cmdline`)))
      .map(Number)
  }

  post(body, headers = {}) {
    return fetch(this.chat, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream, application/json', ...headers },
      body: JSON.stringify(body),
    })
  }

  get(query, headers = {}) {
    return fetch(`${this.chat}?${new URLSearchParams(query)}`, { headers })
  }

  cancel(body) {
    return fetch(`${this.chat}/cancel`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
  }
}

export class Sandbox extends Server {
  constructor(env = {}) {
    super()
    // below /tmp and open: as root, run.sh's workers are another user
    this.dir = mkdtempSync(join(tmpdir(), 'sandbox-e2e-'))
    chmodSync(this.dir, 0o755)
    this.env = env
    this.output = ''
  }

  static async start(env) {
    const sandbox = new Sandbox(env)
    await sandbox.start()
    return sandbox
  }

  async start() {
    this.port ??= await freePort()
    this.url = `http://127.0.0.1:${this.port}`

    this.child = spawn(join(TOP, 'run.sh'), {
      env: { ...process.env, PORT: String(this.port), RUN_DIR: this.dir, DEMO_DELAY_MS: '20', ...this.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.gone = new Promise((done) => this.child.once('exit', (code, signal) => done({ code, signal })))
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => (this.output += text))
    }

    const left = await Promise.race([
      this.gone,
      until('run.sh is ready', () => this.output.includes(`is at ${this.url}/`), 300000),
    ])
    if (left !== true) throw new Error(`run.sh ended (${JSON.stringify(left)}):\n${this.output}`)
    return this
  }

  async stop(signal = 'TERM') {
    this.child.kill(`SIG${signal}`)
    return this.gone
  }

  /** Ends everything, whatever state a test left it in, and says what the error log complained of. */
  async close() {
    if (this.child?.exitCode === null && this.child.signalCode === null) await this.stop()
    await endProcesses(this.dir)
    const bad = this.errors()
    if (process.env.SANDBOX_TEST_KEEP) console.error(`kept: ${this.dir}`)
    else rmSync(this.dir, { recursive: true, force: true })
    if (bad.length) throw new Error(`complaints in error.log:\n${bad.join('\n')}`)
  }

  /** Paths of files with this name in any sandbox. */
  files(name) {
    const root = join(this.dir, 'sandboxes')
    if (!existsSync(root)) return []
    return readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((e) => e.isFile() && join(e.parentPath, e.name).endsWith(`/${name}`))
      .map((e) => join(e.parentPath, e.name))
  }
}

let ids = 0

/** What a client posts to start a run. */
export function input(threadId, prompt, more = {}) {
  const runId = more.runId ?? `run-${process.pid}-${++ids}`
  return {
    threadId,
    runId,
    state: {},
    messages: [{ id: `m-${runId}`, role: 'user', content: prompt }],
    tools: [],
    context: [],
    forwardedProps: {},
    ...more,
  }
}

/** Events of an SSE response as they come: { id, data, chunk }. */
export async function* sse(response) {
  let rest = ''
  let event = {}
  for await (const bytes of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + bytes).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      if (line === '') {
        if (event.data !== undefined) yield { ...event, chunk: JSON.parse(event.data) }
        event = {}
      } else if (line.startsWith('id: ')) {
        event.id = line.slice(4)
      } else if (line.startsWith('data: ')) {
        event.data = line.slice(6)
      }
    }
  }
}

export async function all(iterable) {
  const list = []
  for await (const item of iterable) list.push(item)
  return list
}

export const text = (chunks) =>
  chunks.filter((c) => c.type === 'TEXT_MESSAGE_CONTENT').map((c) => c.delta).join('')
