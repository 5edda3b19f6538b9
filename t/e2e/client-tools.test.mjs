// A run that ends on a call of a tool which the browser has, and the run that
// is told what it gave.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { toolDefinition } from '@tanstack/ai'
import { ChatClient, fetchServerSentEvents } from '@tanstack/ai-client'
import { until } from './lib/sandbox.mjs'
import { Stage } from './lib/stage.mjs'

let stage

before(async () => {
  stage = await Stage.start({ harnesses: ['agui'] })

  const look = (hold) => `
    echo '{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"look"}'
    echo '{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}'
    ${hold}
    echo '{"type":"TOOL_CALL_END","toolCallId":"c1"}'
    echo '{"type":"CUSTOM","name":"tool-input-available","value":{"toolCallId":"c1","toolName":"look","input":{}}}'
    echo '{"type":"RUN_FINISHED"}'`
  stage.plan('look', look(''))
  stage.plan('look-held', look('hold held'))

  // the first line of a prompt with a conversation before it
  stage.plan('Previous conversation:', `
    told=$(tr -d '\\\\"{}' | tail -n 1)
    echo '{"type":"TEXT_MESSAGE_CHUNK","delta":"'"told $told"'"}'
    echo '{"type":"RUN_FINISHED"}'`)
})

after(() => stage?.close())

function client(threadId) {
  const seen = { errors: [], calls: 0 }
  const look = toolDefinition({ name: 'look', description: 'looks' }).client(() => {
    seen.calls++
    return { seen: 'a cat' }
  })
  const chat = new ChatClient({
    connection: fetchServerSentEvents(`${stage.url}/api/agui`),
    threadId,
    persistence: true,
    tools: [look],
    onError: (e) => seen.errors.push(e),
  })
  seen.said = () => chat.getMessages().filter((m) => m.role === 'assistant').flatMap((m) => m.parts)
    .filter((p) => p.type === 'text').map((p) => p.content).join()
  return { chat, seen }
}

async function answered({ chat, seen }) {
  await until('the answer', () => seen.said() || seen.errors.length)
  await until('the client is ready', () => chat.getStatus() === 'ready' || seen.errors.length)
  assert.deepEqual(seen.errors, [])
  assert.match(seen.said(), /^told Tool result c1: .*seen:a cat/)
  assert.equal(seen.calls, 1)
}

test('ChatClient: its tool is called, and its result told (A27)', async () => {
  const page = client('stays')
  await page.chat.sendMessage('look')
  await answered(page)
  page.chat.dispose?.()
})

test('ChatClient: the page is reloaded before the call is whole (A27)', async () => {
  const left = client('reloads')
  left.chat.sendMessage('look-held')
  await until('the call shows', () => JSON.stringify(left.chat.getMessages()).includes('"look"'))
  left.chat.dispose?.()

  const page = client('reloads')
  page.chat.attach()
  await until('the call shows again', () => JSON.stringify(page.chat.getMessages()).includes('"look"'))
  stage.open('held')
  await answered(page)
  assert.equal(left.seen.calls, 0)
  page.chat.dispose?.()
})
