// ./run.sh and what its README promises, by plain HTTP.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Sandbox, TOP, all, input, processesUnder, sse, text, until } from './lib/sandbox.mjs'

let sandbox

before(async () => {
  sandbox = await Sandbox.start()
})

after(() => sandbox?.close())

test('a port that is taken: says who has it', async () => {
  const server = createServer()
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address()

  const { status, stderr } = spawnSync(join(TOP, 'run.sh'), {
    env: { ...process.env, PORT: String(port) }, encoding: 'utf8',
  })
  server.close()

  assert.equal(status, 1)
  assert.match(stderr, new RegExp(`port ${port} is taken by process ${process.pid}: `))
})

test('settings that make no sense are refused', () => {
  const dir = mkdtempSync(join(tmpdir(), 'sandbox-settings-'))
  for (const env of [{ PORT: 'http' }, { PORT: '70000' }, { AGENT: 'robot' }, { ISOLATION: 'hope' }, { RUN_DIR: '/tmp/a b' }]) {
    const { status, stderr } = spawnSync(join(TOP, 'run.sh'), {
      env: { ...process.env, PORT: '8080', RUN_DIR: dir, ...env }, encoding: 'utf8',
    })
    assert.equal(status, 1, JSON.stringify(env))
    assert.match(stderr, new RegExp(`${Object.keys(env)[0]} is "`))
  }
  rmSync(dir, { recursive: true })
})

test('the same run again, byte for byte', async () => {
  const live = await (await sandbox.post(input('bytes', 'hello', { runId: 'bytes-1' }))).text()
  const again = await (await sandbox.get({ offset: '-1', runId: 'bytes-1' })).text()
  const events = (s) => s.split('\n').filter((l) => l !== '' && !l.startsWith(':'))
  assert.deepEqual(events(again), events(live))
  assert.match(live, /^(?::.*\n\n?)*id: bytes-1:\S+\ndata: \{[^\n]*"type":"RUN_STARTED"/)
})

test('events arrive one by one, while the agent works', async () => {
  const times = []
  for await (const { chunk } of sse(await sandbox.post(input('slow', 'count to 50')))) {
    if (chunk.type === 'TEXT_MESSAGE_CONTENT') times.push(Date.now())
  }
  assert.ok(times.length > 50)
  assert.ok(times.at(-1) - times[0] > 500, 'spread over the time that the agent takes')
})

test('a second turn finds the file of the first', async () => {
  await all(sse(await sandbox.post(input('files', 'first'))))
  const chunks = (await all(sse(await sandbox.post(input('files', 'second'))))).map((e) => e.chunk)
  const results = chunks.filter((c) => c.type === 'TOOL_CALL_RESULT').map((c) => c.content)
  assert.equal(results.at(-1), '001.md\n002.md')
})

test('a busy thread: 409 with the run that is active', async () => {
  const response = await sandbox.post(input('busy', 'count to 100', { runId: 'busy-1' }))
  const refused = await sandbox.post(input('busy', 'me too'))
  assert.equal(refused.status, 409)
  const problem = await refused.json()
  assert.equal(problem.code, 'thread-busy')
  assert.equal(problem.runId, 'busy-1')
  assert.equal((await sandbox.cancel({ runId: 'busy-1' })).status, 204)
  const last = (await all(sse(response))).at(-1).chunk
  assert.deepEqual([last.type, last.code], ['RUN_ERROR', 'cancelled'])
})

test('kill -9 of the workers in mid-answer: resumed from the last event, nothing lost or repeated', async () => {
  const response = await sandbox.post(input('kill', 'count to 60', { runId: 'kill-1' }))
  const events = []

  await assert.rejects(async () => {
    for await (const event of sse(response)) {
      events.push(event)
      if (events.length === 40) sandbox.killWorkers()
    }
  })

  await until('a worker is back', () => sandbox.workers().length > 0)
  const rest = await all(sse(await until('it answers', () =>
    sandbox.get({ runId: 'kill-1' }, { 'Last-Event-ID': events.at(-1).id }).catch(() => null))))
  events.push(...rest)

  const whole = await all(sse(await sandbox.get({ offset: '-1', runId: 'kill-1' })))
  assert.deepEqual(events, whole)
  assert.match(text(whole.map((e) => e.chunk)), /\n59\n60$/)
})

test('nginx -s reload in mid-answer', async () => {
  const response = await sandbox.post(input('reload', 'count to 80', { runId: 'reload-1' }))
  const events = []
  const master = Number(readFileSync(join(sandbox.dir, 'nginx.pid'), 'utf8'))

  try {
    for await (const event of sse(response)) {
      events.push(event)
      if (events.length === 30) process.kill(master, 'SIGHUP')
    }
  } catch {
    // cut, as viewers of a worker that leaves are
  }

  if (!/^RUN_(FINISHED|ERROR)$/.test(events.at(-1).chunk.type)) {
    events.push(...await all(sse(await sandbox.get({ runId: 'reload-1' }, { 'Last-Event-ID': events.at(-1).id }))))
  }

  assert.deepEqual(events, await all(sse(await sandbox.get({ offset: '-1', runId: 'reload-1' }))))
  assert.match(text(events.map((e) => e.chunk)), /\n79\n80$/)
})

test('the status page is JSON for programs', async () => {
  const response = await fetch(`${sandbox.url}/status`, { headers: { Accept: 'application/json' } })
  assert.equal(response.status, 200)
  assert.equal(typeof await response.json(), 'object')
})

test('TERM ends nginx and redis-server, and the next start still has the log', async () => {
  const mine = await Sandbox.start()
  const live = await all(sse(await mine.post(input('keep', 'hello', { runId: 'keep-1' }))))

  const { code } = await mine.stop('TERM')
  assert.equal(code, 143)
  assert.deepEqual(processesUnder(mine.dir).filter((p) => /nginx|redis/.test(p.command)), [])

  mine.output = ''
  await mine.start()
  assert.deepEqual(await all(sse(await mine.get({ offset: '-1', runId: 'keep-1' }))), live)
  await mine.close()
})
