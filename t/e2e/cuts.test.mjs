// Real clients behind a relay that cuts the connection: whatever the place,
// they get the log, element by element, and show no error.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { ChatClient, fetchHttpStream, fetchServerSentEvents } from '@tanstack/ai-client'
import { KINDS, eachCut, places, recorded } from './lib/cuts.mjs'
import { Relay, bytes, events } from './lib/relay.mjs'
import { TOP, all, input, sse } from './lib/sandbox.mjs'
import { SHORT, Stage } from './lib/stage.mjs'

const RUN = 'run-1'

let stage
let log

before(async () => {
  stage = await Stage.start()
  stage.plan('short', SHORT)
  await all(sse(await stage.nginx.post(input('thread-1', 'short', { runId: RUN }))))
  log = await all(sse(await stage.nginx.get({ offset: '-1', runId: RUN })))
  assert.equal(log.at(-1).chunk.type, 'RUN_FINISHED')
})

after(() => {
  Relay.closeAll()
  return stage?.close()
})

const user = (content) => ({ id: 'm1', role: 'user', parts: [{ type: 'text', content }] })

const signal = () => AbortSignal.timeout(60000)

// before its first event, @tanstack/ai-client has no place to resume at, and reports the cut
const firstEvent = (raw) => raw.indexOf('}\n', raw.indexOf('\r\n\r\n')) + 2

/** The log; and the terminal chunk once more when it was the end of the response that was lost. */
function sameChunks(chunks, expected) {
  if (chunks.length === expected.length + 1) assert.deepEqual(chunks.pop(), expected.at(-1))
  assert.deepEqual(chunks, expected)
}

for (const [name, adapter, path] of [
  ['fetchServerSentEvents', fetchServerSentEvents, '/api/chat'],
  ['fetchHttpStream', fetchHttpStream, '/api/chat.ndjson'],
]) {
  test(`${name}, joinRun: every cut (A02, A07)`, async () => {
    const raw = await recorded(stage.port, `${path}?offset=-1&runId=${RUN}`)
    const expected = await all(adapter(`${stage.url}${path}`).joinRun(RUN, signal()))
    assert.equal(expected.length, log.length)

    await eachCut(stage.port, places(raw, firstEvent(raw)), async (relay) => {
      sameChunks(await all(adapter(`${relay.url}${path}`).joinRun(RUN, signal())), expected)
      assert.equal(relay.cuts, 1)
      assert.equal(relay.connections.length, 2)
    })
  })

  test(`${name}, connect: every cut (A02, A07)`, async () => {
    const raw = await recorded(stage.port, path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(input('thread-1', 'short', { runId: RUN })),
    })
    const run = { threadId: 'thread-1', runId: RUN }
    const connect = (url) => all(adapter(`${url}${path}`).connect([user('short')], undefined, signal(), run))
    const expected = await connect(stage.url)
    assert.equal(expected.length, log.length)

    await eachCut(stage.port, places(raw, firstEvent(raw)), async (relay) => {
      sameChunks(await connect(relay.url), expected)
      assert.equal(relay.connections.length, 2)
    })
  })
}

test('any number of cuts, one event apart (A07)', async () => {
  const expected = await all(fetchServerSentEvents(stage.chat).joinRun(RUN, signal()))

  for (const how of KINDS) {
    const relay = await Relay.start(stage.port, Array(log.length).fill({ at: events(1), how }))
    sameChunks(await all(fetchServerSentEvents(`${relay.url}/api/chat`).joinRun(RUN, signal())), expected)
    assert.ok(relay.cuts >= log.length - 1, `${relay.cuts} cuts`)
    relay.close()
  }
})

test('four cuts in a row without any progress, before and after the header', async () => {
  const expected = await all(fetchServerSentEvents(stage.chat).joinRun(RUN, signal()))

  for (const how of KINDS) {
    const nothing = [bytes(0), bytes(20), events(0), events(0, 30)].map((at) => ({ at, how }))
    const relay = await Relay.start(stage.port, [{ at: events(3), how }, ...nothing, { at: events(2), how }, ...nothing])
    sameChunks(await all(fetchServerSentEvents(`${relay.url}/api/chat`).joinRun(RUN, signal())), expected)
    assert.equal(relay.cuts, 10)
    relay.close()
  }
})

test('what is resumed is the rest and no more, though the query says offset=-1 (A09)', async () => {
  stage.plan('long', `init s1; i=0; while [ $i -lt 400 ]; do say "line $i of many"; i=$((i + 1)); done; result`)
  const events = await all(sse(await stage.nginx.post(input('thread-long', 'long', { runId: 'run-long' }))))

  const raw = await recorded(stage.port, '/api/chat?offset=-1&runId=run-long')
  const at = raw.indexOf('\n\n', raw.length * 0.9) + 2
  const relay = await Relay.start(stage.port, [{ at: bytes(at), how: 'rst' }])
  const chunks = await all(fetchServerSentEvents(`${relay.url}/api/chat`).joinRun('run-long', signal()))
  assert.equal(chunks.length, events.length)

  const { asked, sent } = relay.connections[1]
  const [, id] = asked.toString().match(/^GET \S*offset=-1[^]*\r\nlast-event-id: (\S+)/i)
  const rest = raw.length - raw.indexOf('\n\n', raw.indexOf(`id: ${id}\n`)) - 2
  assert.ok(rest < raw.length / 2 && sent.length < rest * 1.01 + 500, `${sent.length} bytes for the last ${rest} of ${raw.length}`)
  relay.close()
})

/** @tanstack/ai-client's ChatClient, as useChat drives it, from message to end. */
async function chatted(url, threadId, plan, onChunk = () => {}) {
  const seen = { errors: [], finishes: 0, chunks: [] }
  const chat = new ChatClient({
    connection: fetchServerSentEvents(`${url}/api/chat`),
    threadId,
    onError: (e) => seen.errors.push(e),
    onFinish: () => seen.finishes++,
    onChunk: (chunk) => {
      seen.chunks.push(chunk.type)
      onChunk(chunk)
    },
  })
  await chat.sendMessage(plan)
  seen.status = chat.getStatus()
  seen.text = chat.getMessages().filter((m) => m.role === 'assistant').flatMap((m) => m.parts)
    .filter((p) => p.type === 'text').map((p) => p.content)
  chat.dispose?.()
  return seen
}

test('ChatClient, live runs: every event boundary, and no error is shown', async () => {
  const whole = await chatted(stage.url, 'live', 'short')
  assert.equal(whole.status, 'ready')
  assert.equal(whole.text.length, 3)
  let n = 0

  await eachCut(stage.port, log.map((_, i) => events(i + 1)), async (relay) => {
    const seen = await chatted(relay.url, `live-${++n}`, 'short')
    assert.deepEqual(seen, { ...whole, chunks: seen.chunks })
    assert.equal(relay.cuts, 1)
  }, { width: 8 })
})

test('ChatClient has seen the terminal chunk, and loses the end of the response (A02)', async () => {
  for (const how of KINDS) {
    for (const more of [0, 2, 5]) {
      let seen
      const when = new Promise((done) => (seen = done))
      const relay = await Relay.start(stage.port, [{ at: events(log.length, more), when, how }])
      const shown = await chatted(relay.url, `end-${how}-${more}`, 'short', (chunk) => chunk.type === 'RUN_FINISHED' && seen())

      assert.equal(relay.connections.length, 2)
      assert.equal(shown.chunks.filter((type) => type === 'RUN_FINISHED').length, 2)
      assert.deepEqual({ errors: shown.errors, status: shown.status, finishes: shown.finishes },
        { errors: [], status: 'ready', finishes: 1 })
      relay.close()
    }
  }
})

test('@ag-ui/client: a cut is a failure, never half an answer; the same again is the whole one (A29, A31)', async () => {
  const path = '/api/chat'
  const post = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(input('thread-1', 'short', { runId: RUN })) }
  const raw = await recorded(stage.port, path, post)
  const types = log.map((e) => e.chunk.type)
  const end = raw.indexOf('\n\n', raw.indexOf('RUN_FINISHED'))

  // it never resumes, so that some places tell as much as all of them
  const list = places(raw).filter((at, i) => i % 4 === 0 || at >= end).map((at, i) => ({ at, how: KINDS[i % 2] }))

  while (list.length) {
    const cuts = list.splice(0, 100)
    const relays = await Promise.all(cuts.map(({ at, how }) => Relay.start(stage.port, [{ at: bytes(at), how }])))
    const { stdout } = await promisify(execFile)(process.execPath,
      [join(TOP, 't/e2e/lib/ag-ui-runs.mjs'), ...relays.map((r) => `${r.url}${path}`)])

    for (const [i, [first, second]] of JSON.parse(stdout).entries()) {
      if (cuts[i].at < end) assert.equal(first, null, JSON.stringify(cuts[i]))
      assert.deepEqual(second, types)
      relays[i].close()
    }
  }
})

const curl = (args) => new Promise((done) => {
  spawn('curl', ['-sN', '--max-time', '60', ...args], { stdio: 'ignore' }).once('exit', done)
})

test('curl: what came before each cut is the log, byte for byte (A07)', async () => {
  const path = `/api/chat?offset=-1&runId=${RUN}`
  const raw = await recorded(stage.port, path)
  const whole = await (await stage.nginx.get({ offset: '-1', runId: RUN })).text()
  const dir = mkdtempSync(join(stage.dir, 'curl-'))
  // a process for each: some places tell as much as all of them
  const list = places(raw).filter((at, i) => i % 4 === 0 || at > raw.lastIndexOf('}'))
  let n = 0

  await eachCut(stage.port, list, async (relay, at) => {
    const file = join(dir, String(++n))
    let got = ''

    for (let tries = 0; ; tries++) {
      const id = got.match(/^id: (.*)$/gm)?.at(-1)
      const code = await curl(['-o', file, ...id ? ['-H', `Last-Event-ID:${id.slice(3)}`] : [], `${relay.url}${path}`])
      const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
      rmSync(file, { force: true })

      if (tries > 0) assert.equal(code, 0)

      if (got === whole) {
        // all but the end of the response had come: the terminal chunk once more
        assert.ok(at >= raw.indexOf('RUN_FINISHED'))
        assert.equal(text.replace(/^id: .*\n/, ''), whole.slice(whole.lastIndexOf('data: ')))
        break
      }
      const last = text.lastIndexOf('\n\n')
      got += text.slice(0, last < 0 ? 0 : last + 2)
      // an end that it believes in is the end of the log
      if (code === 0) break
    }

    assert.equal(got, whole)
  }, { width: 16 })
})
