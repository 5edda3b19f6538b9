// @tanstack/ai-client, as an application uses it.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ChatClient, fetchHttpStream, fetchServerSentEvents } from '@tanstack/ai-client'
import { Sandbox, all, input, sse, text, until } from './lib/sandbox.mjs'

let sandbox

before(async () => {
  sandbox = await Sandbox.start()
})

after(() => sandbox?.close())

const message = (id, content) => ({ id, role: 'user', parts: [{ type: 'text', content }] })

function check(chunks, runId) {
  const types = chunks.map((c) => c.type)
  assert.equal(types[0], 'RUN_STARTED')
  assert.equal(types.at(-1), 'RUN_FINISHED')
  assert.equal(types.filter((t) => t === 'RUN_FINISHED' || t === 'RUN_ERROR').length, 1)
  assert.equal(chunks[0].runId, runId)
  assert.equal(types.filter((t) => t === 'TOOL_CALL_START').length, 2)
  assert.equal(types.filter((t) => t === 'TOOL_CALL_RESULT').length, 2)
  assert.match(text(chunks), /notes\/001\.md holds what you wrote/)
}

test('fetchServerSentEvents: a run from start to end, and the same again by joinRun', async () => {
  const connection = fetchServerSentEvents(sandbox.chat)
  const run = { threadId: 'sse', runId: 'sse-1' }

  const live = await all(connection.connect([message('m1', 'hello')], undefined, AbortSignal.timeout(60000), run))
  check(live, 'sse-1')

  const joined = await all(connection.joinRun('sse-1', AbortSignal.timeout(60000)))
  assert.deepEqual(joined, live)
})

test('fetchHttpStream: the same over lines of JSON', async () => {
  const connection = fetchHttpStream(`${sandbox.url}/api/chat.ndjson`)
  const run = { threadId: 'ndjson', runId: 'ndjson-1' }

  const live = await all(connection.connect([message('m1', 'hello')], undefined, AbortSignal.timeout(60000), run))
  check(live, 'ndjson-1')

  const joined = await all(connection.joinRun('ndjson-1', AbortSignal.timeout(60000)))
  assert.deepEqual(joined, live)
})

test('joinRun in mid-run: everything from the start, once', async () => {
  const connection = fetchServerSentEvents(sandbox.chat)
  const live = all(sse(await sandbox.post(input('join', 'count to 40', { runId: 'join-1' }))))

  assert.equal((await connection.hydrate('join')).activeRun.runId, 'join-1')

  // the client adds members to some chunks: its views are compared with each other
  const joined = await all(connection.joinRun('join-1', AbortSignal.timeout(60000)))
  assert.deepEqual(joined, await all(connection.joinRun('join-1', AbortSignal.timeout(60000))))
  assert.deepEqual(joined.map((c) => c.type), (await live).map((e) => e.chunk.type))
  assert.match(text(joined), /1\n2\n3\n.*\n39\n40$/s)
})

test('hydrate: the active run, and none after it', async () => {
  const connection = fetchServerSentEvents(sandbox.chat)

  const { messages, activeRun } = await connection.hydrate('hydrate')
  assert.deepEqual({ messages, activeRun }, { messages: [], activeRun: null })

  const response = await sandbox.post(input('hydrate', 'count to 20', { runId: 'hydrate-1' }))
  assert.equal((await connection.hydrate('hydrate')).activeRun.runId, 'hydrate-1')

  await all(sse(response))
  await until('the run has ended', async () => (await connection.hydrate('hydrate')).activeRun === null)
})

function client(threadId, more = {}) {
  const errors = []
  const chat = new ChatClient({
    connection: fetchServerSentEvents(sandbox.chat),
    threadId,
    onError: (e) => errors.push(e),
    ...more,
  })
  return { chat, errors }
}

const said = (chat) =>
  chat.getMessages().filter((m) => m.role === 'assistant').flatMap((m) => m.parts)
    .filter((p) => p.type === 'text').map((p) => p.content).join('\n')

test('ChatClient: two turns in one sandbox, the second remembering the first', async () => {
  const { chat, errors } = client('turns')

  await chat.sendMessage('the first message')
  assert.deepEqual(errors, [])
  assert.match(said(chat), /notes\/001\.md holds what you wrote/)

  await chat.sendMessage('the second message')
  assert.deepEqual(errors, [])
  assert.match(said(chat), /I remember 1 earlier message of yours; the last one was "the first message"/)
  assert.match(said(chat), /notes\/002\.md holds what you wrote. One earlier note is here as well/)
  chat.dispose?.()
})

test('ChatClient: a page that comes back tails the run that it finds', async () => {
  const response = await sandbox.post(input('mount', 'count to 60', { runId: 'mount-1' }))
  const { chat, errors } = client('mount', { persistence: true })
  chat.attach()

  await until('the answer is complete', () => /\n59\n60$/.test(said(chat)), 60000)
  assert.deepEqual(errors, [])
  chat.dispose?.()
  await response.body.cancel()
})

test('ChatClient: kill -9 of the worker that serves it costs a pause and nothing else', async () => {
  const { chat, errors } = client('killed')
  const sent = chat.sendMessage('count to 60')

  await until('text came', () => /\n10\n/.test(said(chat)), 60000)
  sandbox.killWorkers()

  await sent
  assert.deepEqual(errors, [])
  assert.match(said(chat), new RegExp(Array.from({ length: 60 }, (_, i) => i + 1).join('\n') + '$'))
  chat.dispose?.()
})
