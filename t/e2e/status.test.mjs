// The status page in a headless Chromium.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { launch } from './lib/browser.mjs'
import { Sandbox, input, until } from './lib/sandbox.mjs'

const HOSTILE = '"><img src=x onerror="document.body.dataset.owned=1"><script>document.body.dataset.owned=1</script>'

let sandbox
let browser

before(async () => {
  sandbox = await Sandbox.start()
  browser = await launch()
})

after(async () => {
  await browser?.close()
  await sandbox?.close()
})

const redis = (...command) => execFileSync('redis-cli', ['-s', join(sandbox.dir, 'redis/redis.sock'), ...command]).toString()

/** Runs that are in the index and have a record, and that no worker here takes over. */
function make(n, fields = {}) {
  const pairs = Object.entries({
    status: 'running', definition: 'demo', phase: 'driving', threadId: 't', driver: 'far:1', driverEpoch: '1', n: '12', ...fields,
  })
  redis('EVAL', `local t = redis.call('TIME')[1] * 1000
    for i = 1, ${n} do
      redis.call('ZADD', 'sandbox:active', t + 300000 + i, '-:made' .. i)
      redis.call('HSET', 'sandbox:-:{r:made' .. i .. '}:rec', 'claim', 'x', 'claimUntil', t + 300000, 'startedAt', t - i * 1000, unpack(ARGV))
    end`, '0', ...pairs.flat())
}

function unmake(n) {
  redis('EVAL', `for i = 1, ${n} do
      redis.call('ZREM', 'sandbox:active', '-:made' .. i)
      redis.call('DEL', 'sandbox:-:{r:made' .. i .. '}:rec')
    end`, '0')
}

/** The page, and everything that it complained of. */
async function open(t, options = {}) {
  const context = await browser.newContext(options)
  t.after(() => context.close())
  const page = await context.newPage()
  const errors = []
  const requests = []
  page.on('pageerror', (e) => errors.push(e.message))
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && errors.push(m.text()))
  page.on('request', (r) => requests.push(r.url()))
  const response = await page.goto(`${sandbox.url}/status`)
  await page.waitForSelector('body[data-state=live]')
  return { page, errors, requests, response }
}

const rows = (page) => page.locator('#runs tr').count()

/** For looking at: SANDBOX_SHOTS names a directory. */
async function shot(page, name) {
  if (process.env.SANDBOX_SHOTS) await page.screenshot({ path: join(process.env.SANDBOX_SHOTS, `${name}.png`) })
}

test('HTML for a browser, JSON for others, under one address', async () => {
  const url = `${sandbox.url}/status`
  const html = await fetch(url, { headers: { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } })
  assert.equal(html.headers.get('content-type'), 'text/html; charset=utf-8')
  assert.equal(html.headers.get('vary'), 'Accept')
  assert.equal(html.headers.get('cache-control'), 'no-store')
  const policy = html.headers.get('content-security-policy')
  assert.match(policy, /^default-src 'none'; script-src 'nonce-[0-9a-f]{32}'; style-src 'nonce-[0-9a-f]{32}';/)
  const again = await fetch(url, { headers: { Accept: 'text/html' } })
  assert.notEqual(again.headers.get('content-security-policy'), policy, 'a nonce is used once')
  assert.doesNotMatch(await html.text(), /@NONCE@|https?:/, 'nothing from elsewhere')
  for (const headers of [{}, { Accept: '*/*' }, { Accept: 'application/json' }]) {
    assert.equal((await fetch(url, { headers })).headers.get('content-type'), 'application/json')
  }
})

for (const colorScheme of ['light', 'dark']) {
  test(`no runs, ${colorScheme}`, async (t) => {
    const { page, errors, requests } = await open(t, { colorScheme })
    assert.equal(await page.textContent('#ready'), 'ready')
    assert.equal(await page.textContent('#active'), '0')
    assert.equal(await page.isVisible('#none'), true)
    assert.match(await page.textContent('#servers'), /redis\.sock.*up/)
    assert.match(await page.textContent('#sandboxes'), /demo.*reachable/)
    assert.deepEqual([...new Set(requests)], [`${sandbox.url}/status`], 'it asks for nothing else')
    const [paper, ink] = await page.evaluate(() => ['backgroundColor', 'color'].map((p) => getComputedStyle(document.body)[p]))
    const light = (c) => c.match(/\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0) > 384
    assert.deepEqual([light(paper), light(ink)], colorScheme === 'light' ? [true, false] : [false, true])
    await shot(page, `empty-${colorScheme}`)
    assert.deepEqual(errors, [])
  })
}

test('a run comes and goes, on a page that stays open', async (t) => {
  const { page, errors } = await open(t)
  const response = await sandbox.post(input('thread-of-the-page', 'count to 5000', { runId: 'run-of-the-page' }))
  await page.waitForSelector('#runs tr')
  assert.equal(await rows(page), 1)
  const row = await page.textContent('#runs tr')
  assert.match(row, /demo/)
  assert.match(row, /driving|launching|accepted/)
  assert.doesNotMatch(await page.content(), /of-the-page/, 'ids are hashed')
  await shot(page, 'one')
  await sandbox.cancel({ runId: 'run-of-the-page' })
  await response.text()
  await page.waitForSelector('#none', { state: 'visible', timeout: 20000 })
  assert.equal(await rows(page), 0)
  assert.deepEqual(errors, [])
})

test('what users choose is text, whatever it says', async (t) => {
  make(3, { definition: HOSTILE, phase: HOSTILE, driver: HOSTILE, threadId: HOSTILE })
  t.after(() => unmake(3))
  const { page, errors } = await open(t)
  assert.equal(await rows(page), 3)
  assert.equal(await page.locator('#runs img, #runs script').count(), 0)
  assert.equal(await page.evaluate(() => document.body.dataset.owned), undefined)
  assert.equal((await page.textContent('#runs tr td:nth-child(3)')), HOSTILE)
  assert.match(await page.textContent('#warnings'), /definition-missing/)
  assert.deepEqual(errors, [])
})

test('500 runs and more: on a desk, on a phone, in the dark', async (t) => {
  make(520, { detachedSince: '1795990000000' })
  t.after(() => unmake(520))
  const { page, errors } = await open(t)
  assert.equal(await rows(page), 500)
  assert.equal(await page.textContent('#active'), '520')
  assert.equal(await page.textContent('#shown'), '500 of 520')
  await shot(page, 'many-light')
  await page.emulateMedia({ colorScheme: 'dark' })
  await shot(page, 'many-dark')

  await page.fill('#filter', 'nothing like it')
  assert.equal(await rows(page), 0)
  assert.equal(await page.textContent('#none'), 'No such runs.')
  await page.fill('#filter', 'demo')
  assert.equal(await rows(page), 500)

  await page.setViewportSize({ width: 360, height: 740 })
  const wide = await page.evaluate(() => document.documentElement.scrollWidth)
  assert.ok(wide <= 360, `nothing to scroll sideways for: ${wide}`)
  assert.equal(await page.locator('thead').isVisible(), false)
  await shot(page, 'many-phone')
  assert.deepEqual(errors, [])
})

test('when it cannot be updated it says so, and goes on when it can', async (t) => {
  const { page } = await open(t)
  await page.route('**/status', (route) => route.abort())
  await page.waitForSelector('body[data-state=away]', { timeout: 20000 })
  assert.match(await page.textContent('#away'), /cannot be updated.*It shows how things were at/)
  await shot(page, 'away')
  await page.unroute('**/status')
  await page.waitForSelector('body[data-state=live]', { timeout: 30000 })
  assert.equal(await page.isVisible('#away'), false)
})

test('Redis that is away: the page tells, and is there', async (t) => {
  const { page, errors } = await open(t)
  const pid = Number(execFileSync('cat', [join(sandbox.dir, 'redis.pid')]).toString())
  process.kill(pid, 'SIGSTOP')
  t.after(() => process.kill(pid, 'SIGCONT'))
  await page.waitForFunction(() => document.querySelector('#ready').textContent === 'not ready', null, { timeout: 30000 })
  await page.waitForFunction(() => document.querySelector('#warnings').textContent.includes('redis-down'), null, { timeout: 30000 })
  await shot(page, 'redis')
  process.kill(pid, 'SIGCONT')
  await page.waitForFunction(() => document.querySelector('#ready').textContent === 'ready', null, { timeout: 30000 })
  await until('nothing is said', () => errors.length === 0)
})
