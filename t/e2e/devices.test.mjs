// Several devices and several nginx: whoever comes finds the run and follows
// it, also while its sandbox is still being made.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ChatClient, fetchServerSentEvents } from '@tanstack/ai-client'
import { all, input, sse, until } from './lib/sandbox.mjs'
import { Stage } from './lib/stage.mjs'

let stage
let replica

before(async () => {
  stage = await Stage.start({ http: 'sandbox_heartbeat 100ms;' })
  replica = await stage.replica()
})

after(() => stage?.close())

/** A device that opens the thread: what it shows, and what it complains of. */
function device(nginx, threadId) {
  const errors = []
  const chat = new ChatClient({
    connection: fetchServerSentEvents(nginx.chat),
    threadId,
    persistence: true,
    onError: (e) => errors.push(e),
  })
  chat.attach()
  const said = () => chat.getMessages().filter((m) => m.role === 'assistant').flatMap((m) => m.parts)
    .filter((p) => p.type === 'text').map((p) => p.content)
  return { chat, errors, said }
}

test('a run is found and followed on another replica, by several at once (A37)', async () => {
  stage.plan('held', "init s1\nsay 'one'\nhold shown\nsay 'two'\nresult")
  const response = await stage.nginx.post(input('shared', 'held', { runId: 'shared-1' }))

  const { activeRun } = await (await fetch(`${replica.chat}?threadId=shared`)).json()
  assert.equal(activeRun.runId, 'shared-1')

  const devices = [stage.nginx, replica, replica, stage.nginx, replica].map((nginx) => device(nginx, 'shared'))
  await until('all show the first text', () => devices.every((d) => d.said()[0] === 'one'), 60000)
  stage.open('shown')
  await all(sse(response))
  await until('all show everything', () => devices.every((d) => d.said().length === 2 && d.chat.getStatus() === 'ready'), 60000)

  for (const { chat, errors, said } of devices) {
    assert.deepEqual(said(), ['one', 'two'])
    assert.deepEqual(errors, [])
    chat.dispose?.()
  }
})

test('a page that comes while the sandbox is being made sees life at once, and the run in the end (A04, A17, A35)', async () => {
  stage.plan('first', "init s1\nsay 'turn one'\nresult")
  stage.plan('second', "init s2\nsay 'turn two'\nresult")
  await all(sse(await stage.nginx.post(input('slow', 'first'))))

  // somebody else has the sandbox: for this run it is as good as one that takes long to make
  const { sandboxKey } = await (await fetch(`${stage.chat}?threadId=slow`)).json()
  const lease = `sandbox:{lease}:sandbox:${sandboxKey}`
  await until('the lease is free', () => stage.redisCli('SET', lease, 'somebody', 'NX', 'PX', '600000').trim() === 'OK')

  const started = await stage.nginx.post(input('slow', 'second', { runId: 'slow-2' }))
  assert.equal(started.status, 200)

  const joined = await replica.get({ offset: '-1', runId: 'slow-2' })
  const reader = joined.body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!/^data: \{"type":"RUN_STARTED"[^]*(\n\n: [^\n]*){3}\n\n/m.test(text)) text += (await reader.read()).value
  await reader.cancel()

  const page = device(replica, 'slow')
  await until('the page follows', () => page.chat.getStatus() === 'streaming' || page.errors.length, 60000)

  stage.redisCli('DEL', lease)
  stage.redisCli('PUBLISH', lease, 'released')
  const types = (await all(sse(started))).map((e) => e.chunk.type)
  assert.equal(types.at(-1), 'RUN_FINISHED')
  await until('the page has it', () => page.said().at(-1) === 'turn two' && page.chat.getStatus() === 'ready', 60000)
  assert.deepEqual(page.errors, [])
  page.chat.dispose?.()
})
