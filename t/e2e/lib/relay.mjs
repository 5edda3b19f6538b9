// A TCP relay that cuts: it knows nothing of HTTP, and passes bytes on until
// the place where it was told to break the connection.

import { connect, createServer } from 'node:net'

/** The first n bytes of what the server sends, and no more. */
export const bytes = (n) => () => n

/** So many bytes after the n-th event (of SSE, in plain sight) of a connection; fewer events: no cut. */
export const events = (n, more = 0) => (sent) => {
  let at = sent.indexOf('\r\n\r\n')
  for (let i = 0; i < n && at >= 0; i++) {
    const next = sent.indexOf('\n\n', at)
    at = next < 0 ? -1 : next + 2
  }
  return at < 0 ? undefined : (n === 0 ? at + 4 : at) + more
}

/**
 * plan[n] is for the n-th connection: { at, when, how }. at(bytes so far) gives the place; the
 * rest is held back until the promise when; then how is 'fin' or 'rst', or nothing: it goes on.
 */
export class Relay {
  static #all = new Set()

  static async start(port, plan = []) {
    const relay = new Relay()
    relay.connections = []
    relay.server = createServer((client) => relay.#join(client, port, plan[relay.connections.length]))
    await new Promise((done, failed) => relay.server.once('error', failed).listen(0, '127.0.0.1', done))
    relay.port = relay.server.address().port
    relay.url = `http://127.0.0.1:${relay.port}`
    Relay.#all.add(relay)
    return relay
  }

  /** What failed tests have left, too. */
  static closeAll() {
    for (const relay of Relay.#all) relay.close()
  }

  #join(client, port, cut) {
    const upstream = connect(port, '127.0.0.1')
    const connection = { client, upstream, asked: Buffer.alloc(0), sent: Buffer.alloc(0), done: false }
    this.connections.push(connection)

    client.setNoDelay()
    upstream.setNoDelay()
    client.on('error', () => {})
    client.on('close', () => upstream.destroy())
    client.on('data', (data) => {
      connection.asked = Buffer.concat([connection.asked, data])
      upstream.write(data)
    })
    client.on('end', () => upstream.end())

    upstream.on('error', () => client.resetAndDestroy())
    upstream.on('end', () => client.end())
    upstream.on('data', (data) => {
      const before = connection.sent.length
      connection.sent = Buffer.concat([connection.sent, data])

      const at = connection.done ? undefined : cut?.at(connection.sent)
      if (at === undefined || at < before || at > connection.sent.length) {
        client.write(data)
        return
      }

      const due = at - before
      connection.done = true
      upstream.pause()
      client.write(data.subarray(0, due), async () => {
        await cut.when

        if (!cut.how) {
          client.write(data.subarray(due))
          upstream.resume()
          return
        }

        connection.sent = connection.sent.subarray(0, at)
        upstream.destroy()
        if (cut.how === 'rst') client.resetAndDestroy()
        else client.end()
      })
    })
  }

  /** How many connections were broken off. */
  get cuts() {
    return this.connections.filter((c) => c.done).length
  }

  close() {
    Relay.#all.delete(this)
    this.server.close()
    for (const { client, upstream } of this.connections) {
      client.destroy()
      upstream.destroy()
    }
  }
}
