// The chat page in a headless Chromium.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { launch } from './lib/browser.mjs'
import { Sandbox, processesUnder, until } from './lib/sandbox.mjs'

const COUNT = 60
const NUMBERS = Array.from({ length: COUNT }, (_, i) => i + 1).join('\n')

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

/** A fresh profile with a page that fails the test on any script error or unexpected console error. */
async function open(t, options = {}) {
  const context = await browser.newContext(options)
  t.after(() => context.close())
  const errors = []
  const page = async () => {
    const p = await context.newPage()
    p.on('pageerror', (e) => errors.push(e))
    await p.goto(`${sandbox.url}/`)
    await p.waitForSelector('body[data-state=idle], body[data-state=streaming]')
    return p
  }
  return { context, errors, page }
}

async function say(page, prompt) {
  await page.fill('#input', prompt)
  await page.press('#input', 'Enter')
}

const answer = (page, n = 0) =>
  page.locator('.turn').nth(n).locator('.answer > .text').evaluateAll((list) => list.map((e) => e.textContent))

const idle = (page) => page.waitForSelector('body[data-state=idle]', { timeout: 60000 })

const came = (page, what) =>
  page.waitForFunction((w) => document.querySelector('#turns')?.textContent.includes(w), what, { timeout: 60000 })

test('send: text, thoughts, tool calls with arguments and results', async (t) => {
  const { errors, page: open_ } = await open(t)
  const page = await open_()

  await say(page, 'a note from the page')
  await page.waitForSelector('body[data-state=streaming]')
  assert.equal(await page.isVisible('#stop'), true)
  await idle(page)

  assert.match((await answer(page)).join('\n'), /notes\/001\.md holds what you wrote/)
  assert.equal(await page.locator('.turn .prompt').textContent(), 'a note from the page')
  assert.equal(await page.locator('.reasoning').count(), 1)

  const tools = page.locator('details.tool')
  assert.equal(await tools.count(), 2)
  await tools.nth(0).locator('summary').click()
  assert.match(await tools.nth(0).locator('.args').textContent(), /a note from the page/)
  assert.match(await tools.nth(0).locator('.result').textContent(), /File created successfully/)
  assert.equal(await tools.nth(1).locator('.result').textContent(), '001.md')
  assert.equal(await page.isVisible('#send'), true)

  await say(page, 'and another')
  await page.waitForSelector('body[data-state=streaming]')
  await idle(page)
  assert.match((await answer(page, 1)).join('\n'), /I remember 1 earlier message/)
  assert.deepEqual(errors, [])
})

test('F5 in mid-answer: the whole answer, once', async (t) => {
  const { errors, page: open_ } = await open(t)
  const page = await open_()

  await say(page, `count to ${COUNT}`)
  await came(page, '\n10\n')
  assert.equal(await page.locator('body[data-state=streaming]').count(), 1)
  await page.reload()
  await came(page, `\n${COUNT}`)
  await idle(page)

  assert.equal((await answer(page)).at(-1), NUMBERS)
  assert.equal(await page.locator('.turn').count(), 1)
  assert.deepEqual(errors, [])

  await page.reload()
  await idle(page)
  assert.equal((await answer(page)).at(-1), NUMBERS)
})

test('a second tab follows, and sees what the first one says next', async (t) => {
  const { errors, page: open_ } = await open(t)
  const first = await open_()

  await say(first, `count to ${COUNT}`)
  await came(first, '\n5\n')

  const second = await open_()
  await came(second, '\n10\n')
  await Promise.all([idle(first), idle(second)])
  assert.equal((await answer(second)).at(-1), NUMBERS)
  assert.deepEqual(await answer(second), await answer(first))

  await say(first, 'hello again')
  await second.waitForSelector('.turn:nth-child(2)')
  await idle(first)
  await came(second, 'I remember 1 earlier message')
  await idle(second)
  assert.deepEqual(await answer(second, 1), await answer(first, 1))
  assert.deepEqual(errors, [])
})

test('Stop stops: the page, the run and the agent', async (t) => {
  const { errors, page: open_ } = await open(t)
  const page = await open_()

  await say(page, 'count to 5000')
  await came(page, '\n10\n')

  const agents = () => processesUnder(sandbox.dir).filter((p) => /bin\/agent/.test(p.command))
  assert.notEqual(agents().length, 0)

  await page.click('#stop')
  await idle(page)
  await until('the agent is gone', () => agents().length === 0, 5000)

  assert.equal(await page.locator('.turn .stopped').count(), 1)
  assert.doesNotMatch((await answer(page)).join('\n'), /\n5000/)
  assert.deepEqual(errors, [])

  // and the thread can go on
  await say(page, 'hello')
  await page.waitForSelector('body[data-state=streaming]')
  await idle(page)
  assert.match((await answer(page, 1)).join('\n'), /holds what you wrote/)
})

test('a cut connection: the page says so, comes back, and has everything once', async (t) => {
  const { context, errors, page: open_ } = await open(t)
  const page = await open_()

  await say(page, `count to ${COUNT}`)
  await came(page, '\n10\n')
  sandbox.killWorkers()
  await page.waitForSelector('body[data-state=reconnecting]')
  await idle(page)

  assert.equal((await answer(page)).at(-1), NUMBERS)
  assert.deepEqual(errors, [])
  assert.equal(context.pages().length, 1)
})

test('an error is shown with its code', async (t) => {
  const { errors, page: open_ } = await open(t)
  const page = await open_()

  await say(page, 'please fail')
  await page.waitForSelector('.turn .error')
  await idle(page)
  assert.ok((await page.locator('.turn .error').textContent()).length > 10)
  assert.equal(await page.locator('.turn .error code').count(), 1)
  assert.deepEqual(errors, [])
})

test('on a phone nothing is wider than the screen, in light and in dark', async (t) => {
  for (const colorScheme of ['light', 'dark']) {
    const { page: open_ } = await open(t, { viewport: { width: 360, height: 640 }, colorScheme })
    const page = await open_()

    await say(page, `a ${'very'.repeat(60)} long word`)
    await page.waitForSelector('body[data-state=streaming]')
    await idle(page)
    await page.evaluate(() => document.querySelectorAll('details').forEach((d) => (d.open = true)))

    const { wide, inner } = await page.evaluate(() => ({ wide: document.documentElement.scrollWidth, inner: innerWidth }))
    assert.ok(wide <= inner, `${wide} > ${inner}`)
    if (process.env.SANDBOX_TEST_SCREENSHOTS) {
      await page.screenshot({ path: `${process.env.SANDBOX_TEST_SCREENSHOTS}/phone-${colorScheme}.png` })
    }
  }
})
