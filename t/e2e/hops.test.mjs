// What stands between a client and the module in the field: a stock nginx
// with its defaults (HTTP/1.0 upstream), HTTP/2, gzip, sub_filter, and
// readers that stall.  Every event arrives at once, and every cut heals.

import assert from 'node:assert/strict'
import http2 from 'node:http2'
import { after, before, test } from 'node:test'
import { ChatClient, fetchServerSentEvents } from '@tanstack/ai-client'
import { launch } from './lib/browser.mjs'
import { KINDS, eachCut, places, recorded } from './lib/cuts.mjs'
import { Relay, bytes, events } from './lib/relay.mjs'
import { all, freePort, input, sse, until } from './lib/sandbox.mjs'
import { SHORT, Stage } from './lib/stage.mjs'

const RUN = 'run-1'
const QUERY = `/api/chat?offset=-1&runId=${RUN}`
const GZIP = 'gzip on; gzip_types text/event-stream application/x-ndjson; gzip_proxied any; gzip_min_length 0;'
const SUB = "sub_filter 'nobody says this' 'x'; sub_filter_types *; sub_filter_once off;"

let stage
let tlsPort
let log
let hops

before(async () => {
  tlsPort = await freePort()
  stage = await Stage.start({
    server: (s) => `
      listen 127.0.0.1:${tlsPort} ssl http2;
      ${s.tls()}
      location = /gzip/api/chat { ${GZIP} sandbox_run t; }
      location = /sub/api/chat { ${SUB} sandbox_run t; }
      location = /both/api/chat { ${GZIP} ${SUB} proxy_buffering on; output_buffers 2 64k; postpone_output 1460; sandbox_run t; }`,
  })
  stage.plan('short', SHORT)
  await all(sse(await stage.nginx.post(input('thread-1', 'short', { runId: RUN }))))
  log = await all(sse(await stage.nginx.get({ offset: '-1', runId: RUN })))

  const hop = (port, more = '') => `server { listen 127.0.0.1:${port}; ${more} location / { proxy_pass http://127.0.0.1:${stage.port}; } }`
  hops = {
    'as it comes': await stage.hop((port) => hop(port)),
    'with gzip': await stage.hop((port) => hop(port, GZIP)),
    'with sub_filter': await stage.hop((port) => hop(port, SUB)),
    'with gzip, sub_filter and proxy_buffering': await stage.hop((port) => hop(port, `${GZIP} ${SUB} proxy_buffering on;`)),
  }
})

after(async () => {
  Relay.closeAll()
  await stage?.close()
})

const signal = () => AbortSignal.timeout(120000)

let runs = 0

/** A run that says one thing and is held: what a reader has of it meanwhile, and then the whole. */
async function atOnce(url, headers = {}) {
  const runId = `held-${++runs}`
  stage.plan(runId, `init s1\nsay 'the first'\nhold ${runId}\nsay 'the second'\nresult`)
  const response = await fetch(`${url}/api/chat`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(input(runId, runId, { runId })),
    signal: signal(),
  })
  const seen = []
  for await (const event of sse(response)) {
    seen.push(event)
    if (event.chunk.delta === 'the first') stage.open(runId)
  }
  assert.deepEqual(seen.map((e) => e.chunk.delta).filter(Boolean), ['the first', 'the second'])
  assert.equal(seen.at(-1).chunk.type, 'RUN_FINISHED')
  return response
}

for (const path of ['/gzip', '/sub', '/both']) {
  test(`${path.slice(1)} at the module: what is said arrives while the agent is held (A19)`, async () => {
    const response = await atOnce(`${stage.url}${path}`)
    assert.equal(response.headers.get('content-encoding'), path === '/sub' ? null : 'gzip')
    assert.match(response.headers.get('cache-control'), /no-cache.*no-transform/)
    assert.equal(response.headers.get('x-accel-buffering'), 'no')

    const replay = await all(sse(await fetch(`${stage.url}${path}${QUERY}`)))
    assert.deepEqual(replay, log)
  })
}

for (const name of ['as it comes', 'with gzip', 'with sub_filter', 'with gzip, sub_filter and proxy_buffering']) {
  test(`a stock nginx in front, ${name}: what is said arrives while the agent is held (A19)`, async () => {
    await atOnce(hops[name].url)
    assert.deepEqual(await all(sse(await fetch(`${hops[name].url}${QUERY}`))), log)
  })
}

test('a stock nginx in front: every cut before it (A06)', async () => {
  const raw = await recorded(hops['as it comes'].port, QUERY)
  const first = raw.indexOf('}\n') + 2
  const expected = await all(fetchServerSentEvents(stage.chat).joinRun(RUN, signal()))

  await eachCut(hops['as it comes'].port, places(raw, first).filter((_, i) => i % 3 === 0), async (relay) => {
    const chunks = await all(fetchServerSentEvents(`${relay.url}/api/chat`).joinRun(RUN, signal()))
    assert.deepEqual(chunks.slice(0, expected.length), expected)
    assert.ok(chunks.length <= expected.length + 1)
  })
})

async function chat(url, threadId, plan, onText) {
  const seen = { errors: [] }
  const client = new ChatClient({
    connection: fetchServerSentEvents(`${url}/api/chat`),
    threadId,
    onError: (e) => seen.errors.push(e),
    onChunk: (chunk) => chunk.delta && onText(chunk.delta),
  })
  await client.sendMessage(plan)
  seen.status = client.getStatus()
  seen.text = client.getMessages().filter((m) => m.role === 'assistant').flatMap((m) => m.parts)
    .filter((p) => p.type === 'text').map((p) => p.content)
  client.dispose?.()
  return seen
}

// a body that ends with its connection: only a reset is no clean end

for (const [what, hit] of [
  ['a reload', () => stage.nginx.reload()],
  ['kill -9', () => stage.nginx.killWorkers()],
]) {
  test(`a stock nginx in front, HTTP/1.0 to the module: ${what} in mid-run is no clean end (A06)`, async () => {
    const id = `hit-${++runs}`
    stage.plan(id, `init s1\nsay 'one'\nhold ${id}\nsay 'two'\nresult`)

    const seen = await chat(hops['as it comes'].url, id, id, async (text) => {
      if (text !== 'one') return
      await hit()
      stage.open(id)
    })
    assert.deepEqual(seen, { errors: [], status: 'ready', text: ['one', 'two'] })
  })
}

/** One request of a connection; clean: it ended with END_STREAM, and was not reset. */
function request(session, headers, body) {
  const stream = session.request(headers)
  stream.setEncoding('utf8')
  const answer = { stream, text: '' }
  stream.on('response', (h) => (answer.headers = h))
  stream.on('data', (text) => (answer.text += text))
  stream.on('error', () => {})
  answer.over = new Promise((done) => stream.on('close', () => {
    answer.clean = stream.readableEnded && !stream.aborted && stream.rstCode === http2.constants.NGHTTP2_NO_ERROR
    done(answer)
  }))
  stream.end(body)
  return answer
}

function connected(port) {
  const session = http2.connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
  session.on('error', () => {})
  return session
}

const get = (path, more) => ({ ':path': path, ...more })
const post = (path) => ({ ':method': 'POST', ':path': path, 'content-type': 'application/json' })

/** Reads a run over HTTP/2, as often as it takes. */
async function readAll(port) {
  let got = ''
  for (let tries = 0; tries < 10; tries++) {
    const session = connected(port)
    const id = got.match(/^id: (.*)$/gm)?.at(-1).slice(4)
    const answer = await request(session, get(QUERY, id ? { 'last-event-id': id } : {})).over
    session.destroy()
    const end = answer.text.lastIndexOf('\n\n')
    if (id !== log.at(-1).id) got += answer.text.slice(0, end < 0 ? 0 : end + 2)
    if (answer.clean) return got
  }
  throw new Error('ten times cut')
}

test('HTTP/2: a connection cut anywhere in the encrypted stream heals (A07)', async () => {
  const relay = await Relay.start(tlsPort)
  const whole = await readAll(relay.port)
  assert.equal(whole, await (await stage.nginx.get({ offset: '-1', runId: RUN })).text())
  const { length } = relay.connections[0].sent
  relay.close()

  const step = process.env.CUTS === 'all' ? 1 : 97
  await eachCut(tlsPort, Array.from({ length: Math.floor(length / step) }, (_, i) => i * step), async (relay) => {
    assert.equal(await readAll(relay.port), whole)
  })
})

test('HTTP/2: 100 viewers and requests beside them on one connection (A20)', async () => {
  const id = `h2-${++runs}`
  stage.plan(id, `init s1\nsay 'one'\nhold ${id}\nsay 'two'\nresult`)
  const session = connected(tlsPort)
  const body = JSON.stringify(input(id, id, { runId: id }))

  const viewers = [request(session, post('/api/chat'), body)]
  await until('the run has begun', () => viewers[0].text.includes('"one"'))
  for (let i = 1; i < 100; i++) viewers.push(request(session, get(`/api/chat?offset=-1&runId=${id}`)))
  await until('all have the first text', () => viewers.every((v) => v.text.includes('"one"')))

  const page = await request(session, get(`/api/chat?threadId=${id}`)).over
  assert.equal(JSON.parse(page.text).activeRun.runId, id)
  assert.equal((await request(session, { ...get('/api/chat?offset=-1&runId=none') }).over).headers[':status'], 404)
  assert.equal((await request(session, post('/api/chat/cancel'), '{"runId":"none"}').over).headers[':status'], 204)

  stage.open(id)
  const ended = await Promise.all(viewers.map((v) => v.over))
  for (const viewer of ended) {
    assert.equal(viewer.clean, true)
    assert.equal(viewer.text.replaceAll(/^: heartbeat\n\n/gm, ''), ended[0].text.replaceAll(/^: heartbeat\n\n/gm, ''))
  }
  assert.match(ended[0].text, /"two".*RUN_FINISHED[^\n]*\n\n$/s)
  session.destroy()
})

test('HTTP/2: a reload resets the streams of a run that goes on (A06)', async () => {
  const id = `h2-${++runs}`
  stage.plan(id, `init s1\nsay 'one'\nhold ${id}\nsay 'two'\nresult`)
  const session = connected(tlsPort)
  const viewer = request(session, post('/api/chat'), JSON.stringify(input(id, id, { runId: id })))
  await until('the run has begun', () => viewer.text.includes('"one"'))

  await stage.nginx.reload()
  assert.equal((await viewer.over).clean, false)
  session.destroy()

  stage.open(id)
  assert.match(await (await stage.nginx.get({ offset: '-1', runId: id })).text(), /"two".*RUN_FINISHED/s)
})

test('Chromium, HTTP/2: twelve EventSources to one host, and room for a request (A20)', async () => {
  const id = `h2-${++runs}`
  stage.plan(id, `init s1\nsay 'one'\nhold ${id}\nsay 'two'\nresult`)
  const started = all(sse(await stage.nginx.post(input(id, id, { runId: id }))))
  const browser = await launch()

  try {
    const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage()
    await page.goto(`https://127.0.0.1:${tlsPort}/none`)

    const active = await page.evaluate(async (run) => {
      window.counts = Array(12).fill(0)
      window.sources = window.counts.map((_, i) => {
        const source = new EventSource(`/api/chat?offset=-1&runId=${run}`)
        source.onmessage = () => window.counts[i]++
        return source
      })
      while (window.counts.some((n) => n < 5)) await new Promise((done) => setTimeout(done, 20))
      return (await (await fetch(`/api/chat?threadId=${run}`)).json()).activeRun.runId
    }, id)
    assert.equal(active, id)

    stage.open(id)
    const { length } = await started
    await page.waitForFunction(() => window.sources.every((s) => s.readyState === 2), null, { timeout: 120000 })
    assert.deepEqual(await page.evaluate(() => window.counts), Array(12).fill(length))
  } finally {
    await browser.close()
  }
})

// STALL_S=300   for how long a reader does not read, at least
const STALL_MS = Number(process.env.STALL_S ?? 0) * 1000

for (const [what, meanwhile] of [['', () => {}], [', and a reload comes', () => stage.nginx.reload()]]) {
  test(`a reader stalls while the agent says megabytes${what}; it goes on and has everything`, async () => {
    const id = `stall-${++runs}`
    stage.plan(id, `init s1\nsay 'one'\nhold ${id}\nx=$(printf '%8000d' 7)\ni=0\nwhile [ $i -lt 1000 ]; do say "$i $x"; i=$((i + 1)); done\nresult`)

    let resume
    const when = new Promise((done) => (resume = done))
    const relay = await Relay.start(stage.port, [{ at: events(3), when }])
    const other = all(sse(await stage.nginx.post(input(id, id, { runId: id }))))
    const stalled = all(fetchServerSentEvents(`${relay.url}/api/chat`).joinRun(id, AbortSignal.timeout(500000)))
    await until('the reader stalls', () => relay.cuts === 1)

    stage.open(id)
    const cut = (await other.catch(() => null)) === null
    await until('the run has ended', async () =>
      (await (await fetch(`${stage.chat}?threadId=${id}`)).json()).activeRun === null, 120000)
    await meanwhile()
    await new Promise((done) => setTimeout(done, STALL_MS))
    resume()

    assert.equal(cut, false)
    const expected = await all(fetchServerSentEvents(stage.chat).joinRun(id, signal()))
    assert.equal(expected.length > 3000, true)
    assert.deepEqual(await stalled, expected)
    relay.close()
  })
}
