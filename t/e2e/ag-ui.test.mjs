// @ag-ui/client, which verifies the order of events strictly.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { HttpAgent } from '@ag-ui/client'
import { Sandbox, until } from './lib/sandbox.mjs'

let sandbox

before(async () => {
  sandbox = await Sandbox.start()
})

after(() => sandbox?.close())

function agent(threadId, content) {
  return new HttpAgent({
    url: sandbox.chat,
    threadId,
    initialMessages: [{ id: `m-${content}`, role: 'user', content }],
  })
}

test('a run is accepted, with its tool calls and results', async () => {
  const { newMessages } = await agent('agui', 'hello').runAgent({ runId: 'agui-1' })

  const calls = newMessages.flatMap((m) => m.toolCalls ?? [])
  assert.deepEqual(calls.map((c) => c.function.name), ['Write', 'Bash'])
  for (const call of calls) JSON.parse(call.function.arguments)

  const results = newMessages.filter((m) => m.role === 'tool')
  assert.deepEqual(results.map((m) => m.toolCallId), calls.map((c) => c.id))

  const texts = newMessages.filter((m) => m.role === 'assistant' && m.content).map((m) => m.content)
  assert.match(texts.join('\n'), /notes\/001\.md holds what you wrote/)
})

test('the same run again, from its log', async () => {
  const events = []
  const replay = agent('agui', 'hello')

  await replay.runAgent({ runId: 'agui-1' }, { onEvent: ({ event }) => void events.push(event.type) })
  assert.equal(events[0], 'RUN_STARTED')
  assert.equal(events.at(-1), 'RUN_FINISHED')
})

test('a failure is a RUN_ERROR, and its stream is well formed', async () => {
  const errors = []
  const failing = agent('agui-fail', 'please fail')

  await failing.runAgent({ runId: 'agui-2' }, { onRunErrorEvent: ({ event }) => void errors.push(event) }).catch((e) => e)
  assert.equal(errors.length, 1)
  assert.ok(errors[0].message)
})

test('a run that is cancelled in mid-message ends well formed', async () => {
  const errors = []
  let texts = 0
  const cancelled = agent('agui-cancel', 'count to 2000')

  const done = cancelled.runAgent({ runId: 'agui-3' }, {
    onTextMessageContentEvent: () => void texts++,
    onRunErrorEvent: ({ event }) => void errors.push(event),
  }).catch((e) => e)

  await until('text came', () => texts > 5)
  assert.equal((await sandbox.cancel({ threadId: 'agui-cancel' })).status, 204)
  await done

  assert.equal(errors.length, 1)
  assert.equal(errors[0].code, 'cancelled')
})
