// npm redlock as its documentation shows it, over ioredis:
//     node lease_peer.mjs pairs|waiters|dead PORTS ARGUMENT...
// as lease_bench, in its own process instead of over HTTP

import Redis from 'ioredis'
import redlock from 'redlock'

const [, , what, ports, ...rest] = process.argv
const clients = ports.split(',').map((port) => new Redis({ port: Number(port), host: '127.0.0.1' }))
const lock = new (redlock.default ?? redlock)(clients, { retryCount: -1, retryDelay: 200, retryJitter: 200 })
const now = () => Number(process.hrtime.bigint()) / 1000
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

lock.on('error', () => {})
await Promise.all(clients.map((client) => client.ping()))

async function pairs(n) {
  const times = []

  for (let i = 0; i < n; i++) {
    const start = now()
    await (await lock.acquire(['pair'], 10000)).release()
    times.push(now() - start)
  }

  return times.sort((a, b) => a - b)[n >> 1]
}

async function waiters(n, us) {
  const start = now()

  await Promise.all(Array.from({ length: n }, async () => {
    const held = await lock.acquire(['wanted'], 10000)
    await sleep(us / 1000)
    await held.release()
  }))

  return now() - start
}

async function dead(ms) {
  await lock.acquire(['dead'], ms)
  const end = now() + ms * 1000
  const held = await lock.acquire(['dead'], 10000)
  const late = now() - end
  await held.release()

  return late
}

console.log((await { pairs, waiters, dead }[what](...rest.map(Number))).toFixed(1))
clients.forEach((client) => client.disconnect())
