// EventSource, the npm package and Chromium's own: it reconnects after every
// end, until a 204 says that there is no more.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { EventSource } from 'eventsource'
import { eachCut, places, recorded } from './lib/cuts.mjs'
import { launch } from './lib/browser.mjs'
import { Relay } from './lib/relay.mjs'
import { all, input, sse } from './lib/sandbox.mjs'
import { SHORT, Stage } from './lib/stage.mjs'

const RUN = 'run-1'
const QUERY = `/api/chat?offset=-1&runId=${RUN}`

let stage
let log
let browser

before(async () => {
  stage = await Stage.start({ http: 'add_header Access-Control-Allow-Origin *;' })
  stage.plan('short', SHORT)
  await all(sse(await stage.nginx.post(input('thread-1', 'short', { runId: RUN }))))
  log = (await all(sse(await stage.nginx.get({ offset: '-1', runId: RUN })))).map(({ id, data }) => ({ id, data }))
  browser = await launch()
})

after(async () => {
  Relay.closeAll()
  await browser?.close()
  await stage?.close()
})

/** All that it got when it has closed for good; runs here and in a page. */
const follow = (url) => new Promise((done) => {
  const seen = []
  const source = new EventSource(url)
  source.onmessage = ({ data, lastEventId }) => seen.push({ id: lastEventId, data })
  source.onerror = () => source.readyState === EventSource.CLOSED && done(seen)
})

async function chromium(run) {
  const page = await browser.newPage()
  await page.goto(`${stage.url}/none`)
  await run((url) => page.evaluate(follow, url))
  await page.close()
}

// a header that FIN cuts short is a whole one for Chromium, which then gives up

const afterHeader = (raw) => raw.indexOf('\r\n\r\n') + 4

for (const [name, run, from] of [
  ['npm', (test_) => test_(follow), () => 0],
  ['Chromium', chromium, afterHeader],
]) {
  test(`${name}: a finished run is read once, and two connections are all (A01)`, () => run(async (read) => {
    const relay = await Relay.start(stage.port)
    assert.deepEqual(await read(`${relay.url}${QUERY}`), log)

    assert.equal(relay.connections.map((c) => c.asked.toString().match(/^GET /gm).length).reduce((a, b) => a + b), 2)
    const last = relay.connections.at(-1).sent.toString()
    assert.match(last, /HTTP\/1\.1 204 No Content\r\n/)
    assert.doesNotMatch(last.slice(last.indexOf('204')), /^(content-length|transfer-encoding):/im)
    assert.ok(last.endsWith('\r\n\r\n'))
    relay.close()
  }))

  test(`${name}: every cut (A07)`, () => run(async (read) => {
    const raw = await recorded(stage.port, QUERY, { headers: { Accept: 'text/event-stream', Origin: 'http://127.0.0.1' } })

    await eachCut(stage.port, places(raw, from(raw)), async (relay) => {
      assert.deepEqual(await read(`${relay.url}${QUERY}`), log)
    }, { width: 200 })
  }))
}
