// Reloads, one a second, while real clients read runs: nothing lost, nothing
// twice, no error shown.
//
//     RELOADS=60 RUNS=50 VIEWERS=200 t/e2e/run.sh t/e2e/reloads.test.mjs      the long form

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ChatClient, fetchServerSentEvents } from '@tanstack/ai-client'
import { sleep, until } from './lib/sandbox.mjs'
import { Stage } from './lib/stage.mjs'

const RELOADS = Number(process.env.RELOADS ?? 3)
const RUNS = Number(process.env.RUNS ?? 3)
const VIEWERS = Number(process.env.VIEWERS ?? 12)

let stage

before(async () => {
  stage = await Stage.start({ main: 'worker_processes 2;' })
})

after(() => stage?.close())

const connection = () => fetchServerSentEvents(stage.chat)
const deltas = (chunks) => chunks.filter((c) => c.type === 'TEXT_MESSAGE_CONTENT').map((c) => c.delta)
const said = (chat) =>
  chat.getMessages().filter((m) => m.role === 'assistant').flatMap((m) => m.parts)
    .filter((p) => p.type === 'text').map((p) => p.content).join('|')

/** A page: its errors, and the run that it has begun. */
async function page(threadId, plan) {
  const errors = []
  const chat = new ChatClient({ connection: connection(), threadId, onError: (e) => errors.push(e) })
  const sent = chat.sendMessage(plan)
  const active = await until('the run is there', async () => (await connection().hydrate(threadId)).activeRun)
  return { chat, errors, sent, runId: active.runId }
}

async function oldWorkersLeave() {
  await until('only one generation of workers', () =>
    stage.nginx.workers().length === 2 && stage.nginx.leaving().length === 0, 20000)
}

test(`${RELOADS} reloads, one a second, with ${VIEWERS} viewers of ${RUNS} runs`, { timeout: 300000 + RELOADS * 3000 }, async () => {
  const words = Array.from({ length: (RELOADS + 3) * 2 }, (_, i) => `word-${i + 1}`)
  stage.plan('talk', `init s1\nfor i in ${words.map((_, i) => i + 1).join(' ')}; do say "word-$i"; sleep 0.5; done\nresult`)

  const pages = await Promise.all(Array.from({ length: RUNS }, (_, i) => page(`talk-${i}`, 'talk')))
  const viewers = Array.from({ length: VIEWERS - RUNS }, async (_, i) => {
    const chunks = []
    for await (const chunk of connection().joinRun(pages[i % RUNS].runId, AbortSignal.timeout(300000))) chunks.push(chunk)
    return chunks
  })

  await until('everybody has begun', () => pages.every(({ chat }) => said(chat).includes('word-1')))

  for (let i = 0; i < RELOADS; i++) {
    stage.nginx.child.kill('SIGHUP')
    await sleep(1000)
  }

  for (const { chat, errors, sent } of pages) {
    await sent
    assert.deepEqual(errors, [])
    assert.equal(said(chat), words.join('|'))
    chat.dispose?.()
  }

  for (const chunks of await Promise.all(viewers)) {
    assert.equal(chunks[0].type, 'RUN_STARTED')
    assert.equal(chunks.at(-1).type, 'RUN_FINISHED')
    assert.deepEqual(deltas(chunks), words)
  }

  await oldWorkersLeave()
  assert.doesNotMatch(stage.nginx.log(), /open socket .* left/)
})

test('a silent agent, and three reloads in a row: the client has patience enough', async () => {
  stage.plan('silent', `init s1\nsay 'the first'\nhold silent\nsay 'the second'\nresult`)

  const { chat, errors, sent } = await page('silent', 'silent')
  await until('it has spoken', () => said(chat) === 'the first')

  for (let i = 0; i < 3; i++) {
    await stage.nginx.reload()
    await oldWorkersLeave()
  }

  stage.open('silent')
  await sent
  assert.deepEqual(errors, [])
  assert.equal(said(chat), 'the first|the second')
  chat.dispose?.()
})
