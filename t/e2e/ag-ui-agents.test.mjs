// @ag-ui/client, unmodified, with all its checks, against every harness: what
// Claude Code was recorded saying, and programs that print events or text,
// well and badly.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, mock, test } from 'node:test'
import { HttpAgent } from '@ag-ui/client'
import { TOP } from './lib/sandbox.mjs'
import { BUILD, Stage } from './lib/stage.mjs'

const RECORDINGS = join(TOP, 't/recordings/claude-code')
const recordings = JSON.parse(readFileSync(join(RECORDINGS, 'index.json'), 'utf8'))

const FULL = [
  { type: 'RUN_STARTED', threadId: 'own', runId: 'own' },
  { type: 'STEP_STARTED', stepName: 'plan' },
  { type: 'REASONING_START', messageId: 'r' },
  { type: 'REASONING_MESSAGE_START', messageId: 'r', role: 'reasoning' },
  { type: 'REASONING_MESSAGE_CONTENT', messageId: 'r', delta: 'hm' },
  { type: 'REASONING_MESSAGE_END', messageId: 'r' },
  { type: 'REASONING_ENCRYPTED_VALUE', subtype: 'message', entityId: 'r', encryptedValue: 'c2VjcmV0' },
  { type: 'REASONING_END', messageId: 'r' },
  { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'Grüße 🙂\u2028' },
  { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'look', parentMessageId: 'm' },
  { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '{"at":1}' },
  { type: 'TOOL_CALL_END', toolCallId: 'c' },
  { type: 'TOOL_CALL_RESULT', toolCallId: 'c', messageId: 'cr', content: 'seen', role: 'tool' },
  { type: 'TEXT_MESSAGE_END', messageId: 'm' },
  { type: 'STATE_SNAPSHOT', snapshot: { n: 1 } },
  { type: 'STATE_DELTA', delta: [{ op: 'replace', path: '/n', value: 2 }] },
  { type: 'ACTIVITY_SNAPSHOT', messageId: 'a', activityType: 'PLAN', content: { done: 0 } },
  { type: 'ACTIVITY_DELTA', messageId: 'a', activityType: 'PLAN', patch: [{ op: 'replace', path: '/done', value: 1 }] },
  { type: 'CUSTOM', name: 'mine', value: null },
  { type: 'RAW', event: { any: 'thing' }, source: 'mine' },
  { type: 'SUBAGENT_STARTED', subagentRunId: 's', name: 'searcher', description: 'looks', parentToolCallId: 'c' },
  { type: 'TEXT_MESSAGE_START', messageId: 'sm', role: 'assistant', subagentRunId: 's' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'sm', delta: 'found' },
  { type: 'TEXT_MESSAGE_END', messageId: 'sm' },
  { type: 'CUSTOM', name: 'theirs', value: 1, subagentRunId: 's' },
  { type: 'SUBAGENT_FINISHED', subagentRunId: 's', result: 'found', outcome: { type: 'success' } },
  { type: 'STEP_FINISHED', stepName: 'plan' },
  { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm2', role: 'assistant', delta: 'bye' },
  { type: 'RUN_FINISHED', threadId: 'own', runId: 'own', result: { ok: true } },
]

const BAD = [
  'a banner \x1b[1m and \x07 noise',
  { type: 'TEXT_MESSAGE_END', messageId: 'nothing' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'late', delta: 'before its start' },
  { type: 'TEXT_MESSAGE_START', messageId: 'late', role: 'assistant' },
  { type: 'TEXT_MESSAGE_START', messageId: 'late', role: 'robot' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'late', delta: 7 },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'late', delta: '' },
  { type: 'TOOL_CALL_ARGS', toolCallId: 'none', delta: '{}' },
  { type: 'TOOL_CALL_RESULT', toolCallId: 'none', messageId: 'x', content: 'of nothing' },
  { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'one', subagentRunId: 's1' },
  { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'two', subagentRunId: null },
  { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '{"half":', subagentRunId: 's2' },
  { type: 'SUBAGENT_FINISHED', subagentRunId: 's1' },
  { type: 'SUBAGENT_STARTED', subagentRunId: 's3', name: 'never ended' },
  { type: 'STEP_FINISHED', stepName: 'not begun' },
  { type: 'STEP_STARTED', stepName: 'open' },
  { type: 'STEP_STARTED', stepName: 'open' },
  { type: 'REASONING_MESSAGE_CONTENT', messageId: 'r', delta: 'no start' },
  { type: 'REASONING_END', messageId: 'r' },
  { type: 'REASONING_START', messageId: 'r' },
  { type: 'STATE_DELTA', delta: [{ op: 'replace', path: '/not/there', value: 1 }] },
  { type: 'STATE_DELTA', delta: [{ op: 'shout', path: '/' }] },
  { type: 'ACTIVITY_DELTA', messageId: 'unseen', activityType: 'PLAN', patch: [] },
  { type: 'MESSAGES_SNAPSHOT', messages: [{ id: 1, role: 'user' }] },
  { type: 'RUN_FINISHED' },
  { type: 'RUN_STARTED', threadId: 'again', runId: 'again' },
  { type: 'THINKING_START' },
  { type: 'NO_SUCH_EVENT', deep: { a: [null] } },
  { type: 'TEXT_MESSAGE_START', messageId: 'open', role: 'assistant' },
  '{"type":"TEXT_MESSAGE_CONTENT","messageId":"open","delta":"cut off',
]


let stage
let runs = 0
const warnings = mock.method(console, 'warn', () => {})

before(async () => {
  stage = await Stage.start({ harnesses: ['agui', 'text'] })
})

after(() => stage?.close())

/** A plan that prints this, and exits so. */
function prints(name, list, exit = 0) {
  const lines = list.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
  writeFileSync(join(stage.dir, `output-${name}`), lines.join('\n'))
  stage.plan(name, `cat "$gates/output-${name}"; exit ${exit}`)
}

async function viewed(url, ids, prompt) {
  const agent = new HttpAgent({ url, threadId: ids.threadId, initialMessages: [{ id: 'm1', role: 'user', content: prompt }] })
  const events = []
  await agent.runAgent({ runId: ids.runId }, { onEvent: ({ event }) => void events.push(event) })
  return { events, messages: agent.messages, state: agent.state }
}

/** The run as its first viewer got it, once another one got the same from the log. */
async function run(path, prompt) {
  const ids = { threadId: `thread-${++runs}`, runId: `run-${runs}` }

  const live = await viewed(stage.url + path, ids, prompt)
  const replayed = await viewed(`${stage.url}${path}?offset=-1&runId=${ids.runId}`, ids, prompt)

  // the client leaves out what does not belong into an event, and says so
  assert.deepEqual(warnings.mock.calls.map((call) => call.arguments[0]).filter((w) => w.includes('[enforce]')), [])
  assert.deepEqual(replayed, live)
  assert.equal(live.events[0].type, 'RUN_STARTED')
  assert.equal(live.events.filter((e) => e.type === 'RUN_FINISHED' || e.type === 'RUN_ERROR').length, 1)
  return live
}

const timeless = ({ timestamp, ...event }) => event

test('Claude Code: each recording is completed, live and from the log (A31, A39)', { concurrency: 4 }, (t) => Promise.all(
  recordings.map(({ name, file, exit }) => t.test(name, async () => {
    stage.plan(name, `cat ${join(RECORDINGS, file)}; exit ${exit ?? 137}`)
    const view = await run('/api/chat', name)

    // nothing was left out or changed on the way
    const { runId, threadId } = view.events[0]
    const offline = execFileSync(join(BUILD, 'sandboxctl'), ['translate', '--harness', 'claude_code', '--run-id', runId,
      '--thread-id', threadId, '--exit-code', exit ?? 137, join(RECORDINGS, file)], { encoding: 'utf8', maxBuffer: 1 << 24 })
    assert.deepEqual(view.events.filter((e) => e.name !== 'sandbox.status').map(timeless),
      offline.trim().split('\n').map((line) => timeless(JSON.parse(line))))
  })),
))

test('sub-agents: first view and rejoin are the same, byte for byte, whatever the first request asked for (A34)', async () => {
  const name = 'subagent-foreground'
  const body = { messages: [{ id: 'm1', role: 'user', content: name }], threadId: name, runId: name }
  stage.plan(name, `cat ${join(RECORDINGS, `${name}.ndjson`)}`)

  // comments are no events: they keep the connection alive
  const bytes = async (response) => (await response.text()).replace(/^:.*\n\n/gm, '')
  const first = await bytes(await stage.nginx.post({ ...body, forwardedProps: { subagents: true, streamMode: ['debug'] }, context: [] },
    { Accept: 'text/event-stream, */*;q=0.1' }))

  assert.match(first, /"name":"claude-code\.subagent-message","value":\{"parentToolCallId"/)
  assert.match(first, /"type":"TOOL_CALL_START".*"parentToolCallId"/)
  assert.match(first, /"type":"TOOL_CALL_RESULT".*"parentToolCallId"/)

  assert.equal(await bytes(await stage.nginx.get({ offset: '-1', runId: name })), first)
  assert.equal(await bytes(await stage.nginx.post(body)), first)

  // and from any place on
  const at = first.indexOf('\nid: ', first.indexOf('claude-code.subagent-message')) + 1
  const [, last] = first.slice(first.lastIndexOf('\nid: ', at - 2)).match(/^id: (.*)$/m)
  assert.equal(await bytes(await stage.nginx.get({ offset: '-1', runId: name }, { 'Last-Event-ID': last })), first.slice(at))
})

test('agui: a program that prints every kind of event, in order (A39)', async () => {
  prints('full', FULL)
  const view = await run('/api/agui', 'full')

  // what it said of the run itself is the module's to say; a chunk is its start, content and end
  const whole = FULL.filter((e) => !['RUN_STARTED', 'RUN_FINISHED', 'TEXT_MESSAGE_CHUNK'].includes(e.type))
  assert.deepEqual(view.events.filter((e) => e.name !== 'sandbox.status').map(timeless).slice(1, -4), whole)
  assert.deepEqual(view.state, { n: 2 })
  assert.deepEqual(view.events.at(-1).result, { ok: true })
})

test('agui: a program that prints rubbish, events out of order and no end (A39)', async () => {
  const endless = BAD.filter((e) => e.type !== 'RUN_FINISHED')
  const ends = { 'said-early': [BAD, 0, 'RUN_FINISHED'], 'failed-after': [BAD, 3, 'RUN_ERROR'], none: [endless, 0, 'RUN_ERROR'],
    backwards: [[...FULL].reverse(), 0, 'RUN_FINISHED'] }

  for (const [name, [list, exit, type]] of Object.entries(ends)) {
    prints(name, list, exit)
    const view = await run('/api/agui', name)
    assert.equal(view.events.at(-1).type, type, name)
    assert.ok(view.events.some((e) => e.type === 'RAW'), `${name}: what has no place is shown`)
  }
})

test('text: exit code 0, and another (A39)', async () => {
  prints('text', ['Grüße', '', '{"type":"RUN_FINISHED"}'])
  prints('text-3', ['half'], 3)

  const good = await run('/api/text', 'text')
  assert.equal(good.events.at(-1).type, 'RUN_FINISHED')
  assert.equal(good.messages.at(-1).content, 'Grüße\n\n{"type":"RUN_FINISHED"}')

  const failed = await run('/api/text', 'text-3')
  assert.equal(failed.events.at(-1).type, 'RUN_ERROR')
  assert.equal(failed.messages.at(-1).content, 'half')
})
