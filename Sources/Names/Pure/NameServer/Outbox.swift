package import NetworkTypes

/// The effects of inputs, for the program to carry out, in order of each list. The program empties it afterwards; its room is kept.
package struct Outbox: Sendable {
  /// The contents of replies and datagrams, one after the other.
  package private(set) var bytes: [UInt8] = []
  package private(set) var replies: [Reply] = []
  package private(set) var datagrams: [Datagram] = []
  package private(set) var requests: [Request] = []

  /// A response to a client.
  package struct Reply: Equatable, Sendable {
    package let client: Client
    /// Its place in `bytes`.
    package let range: Range<Int>
  }

  /// A question to a name server.
  package struct Datagram: Equatable, Sendable {
    /// The number of the socket to send it from.
    package let socket: UInt16
    package let address: IPAddress
    package let port: UInt16
    /// Its place in `bytes`.
    package let range: Range<Int>
    /// The ID of the message, by which `undelivered` finds it.
    let id: UInt16
  }

  package enum Request: Equatable, Sendable {
    /// The agent is to start the tunnel of a trigger, because a client asks for a name.
    case start(trigger: Int, name: String, type: UInt16, client: Client)
    /// A question over TCP: to be sent on a connected socket of the pool, with its length before it (RFC 1035 section 4.2.2).
    case openStream(number: UInt32, pool: UInt16, address: IPAddress, port: UInt16, message: [UInt8])
    /// The agent is to say which server a captured question was sent to.
    case origin(number: UInt32, client: Client)
    /// The agent is to tell people that an answer for this name was withheld, because of this address.
    case withheld(name: String, address: IPAddress)
    /// The agent is to route the addresses of an answer for this name, which waits for that. `ttl`: the seconds for which a program may
    /// keep it.
    case route(number: UInt32, name: String, addresses: [IPAddress], ttl: UInt32)
    /// The agent is to tell people that a routed name and another one have this address.
    case shared(address: IPAddress, name: String, other: String)
    /// The answer is not wanted any more.
    case closeStream(number: UInt32)
  }

  package init() {}

  package var isEmpty: Bool { replies.isEmpty && datagrams.isEmpty && requests.isEmpty }

  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    replies.removeAll(keepingCapacity: true)
    datagrams.removeAll(keepingCapacity: true)
    requests.removeAll(keepingCapacity: true)
  }

  mutating func reply(to client: Client, _ write: (inout [UInt8]) -> Void) {
    let start = bytes.count
    write(&bytes)
    replies.append(Reply(client: client, range: start..<bytes.count))
  }

  mutating func datagram(from socket: UInt16, to address: IPAddress, port: UInt16, id: UInt16, _ write: (inout [UInt8]) -> Void) {
    let start = bytes.count
    write(&bytes)
    datagrams.append(Datagram(socket: socket, address: address, port: port, range: start..<bytes.count, id: id))
  }

  mutating func request(_ request: Request) { requests.append(request) }
}
