import JSON
internal import NetworkTypes

/// The reason why bytes are no message.
package struct ProbeMessageError: Error, Equatable, Sendable, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}

/// The first member of every message.
private let version: Int64 = 1

// MARK: Encoding

extension AgentMessage {
  package var bytes: [UInt8] {
    switch self {
    case .errand(let id, .lookUp(let order)):
      message("look-up", ["id": number(id), "name": .string(order.name.text), "servers": .array(order.servers.map(\.json))])
    case .errand(let id, .transfer(let order)):
      message(
        "transfer",
        [
          "id": number(id), "url": .string(order.url), "addresses": JSON(order.addresses.map(\.description)), "pins": JSON(order.pins),
          "accept": JSON(order.accept), "body-limit": JSON(order.bodyLimit),
        ])
    case .cancel(let id): message("cancel", ["id": number(id)])
    case .socket(let wish, let trouble): message("socket", ["wish": number(wish), "trouble": JSON(trouble)])
    }
  }
}

extension HelperMessage {
  package var bytes: [UInt8] {
    switch self {
    case .hello(let trouble): message("hello", ["trouble": JSON(trouble)])
    case .wish(let wish):
      message(
        "wish",
        [
          "id": number(wish.errand), "wish": number(wish.number), "transport": .string(wish.transport.rawValue),
          "destination": wish.destination.json,
        ])
    case .answer(let id, let answer): message("answer", answer.members(id))
    }
  }
}

extension ErrandAnswer {
  fileprivate func members(_ id: UInt32) -> KeyValuePairs<String, JSON> {
    func plain(_ kind: String) -> KeyValuePairs<String, JSON> { ["id": number(id), "answer": .string(kind)] }
    func with(_ kind: String, _ reason: String) -> KeyValuePairs<String, JSON> {
      ["id": number(id), "answer": .string(kind), "reason": .string(cut(reason))]
    }
    return switch self {
    case .addresses(let found):
      [
        "id": number(id), "answer": "addresses", "addresses": JSON(found.prefix(ProbeLimits.addresses).map(\.description)),
      ]
    case .noSuchName: plain("no-such-name")
    case .noAddress: plain("no-address")
    case .silence: plain("silence")
    case .failed(let reason): with("failed", reason)
    case .response(let status, let body):
      [
        "id": number(id), "answer": "response", "status": JSON(status),
        "body": .string(body.prefix(ProbeLimits.body).map(hexadecimal).joined()),
      ]
    case .impostor(let reason): with("impostor", reason)
    case .unanswered(let reason): with("unanswered", reason)
    case .unsent(let reason): with("unsent", reason)
    case .cancelled: plain("cancelled")
    }
  }
}

extension Destination {
  fileprivate var json: JSON { ["address": .string(address.description), "port": .integer(Int64(port))] }
}

private func number(_ id: UInt32) -> JSON { .integer(Int64(id)) }

private func message(_ kind: String, _ members: KeyValuePairs<String, JSON>) -> [UInt8] {
  let head = [JSON.Member(key: "version", value: .integer(version)), JSON.Member(key: "message", value: .string(kind))]
  return Array(JSON.object(head + members.map { JSON.Member(key: $0.key, value: $0.value) }).text().utf8)
}

/// Limits a reason, cut between characters.
private func cut(_ reason: String) -> String {
  var text = reason
  while text.utf8.count > ProbeLimits.reason { text.removeLast(max(1, (text.utf8.count - ProbeLimits.reason) / 4)) }
  return text
}

// MARK: Decoding

extension AgentMessage {
  /// Reads a message; any bytes give a value or an error.
  package init(_ bytes: [UInt8]) throws(ProbeMessageError) {
    let members = try Members(bytes)
    switch members.kind {
    case "look-up":
      guard let name = DomainName(try members.text("name")) else { throw ProbeMessageError("name: it is no domain name") }
      let servers = try members.list("servers", 1...ProbeLimits.servers, Destination.init)
      self = .errand(try members.number("id"), .lookUp(LookUp(name, servers: servers)))
    case "transfer":
      let url = try members.text("url")
      guard URLParts(url) != nil else { throw ProbeMessageError("url: it cannot be read") }
      let order = Transfer(
        url: url, addresses: try members.list("addresses", 1...ProbeLimits.addresses) { $0.string.flatMap { IPAddress($0) } },
        pins: try members.list("pins", 0...Int.max, \.string), accept: try members.optionalText("accept"),
        bodyLimit: try members.integer("body-limit", 0...ProbeLimits.body))
      self = .errand(try members.number("id"), .transfer(order))
    case "cancel": self = .cancel(try members.number("id"))
    case "socket": self = .socket(wish: try members.number("wish"), trouble: try members.optionalText("trouble"))
    default: throw ProbeMessageError("message: it is none that the agent sends")
    }
  }
}

extension HelperMessage {
  /// Reads a message of a helper that may be compromised; any bytes give a value or an error.
  package init(_ bytes: [UInt8]) throws(ProbeMessageError) {
    let members = try Members(bytes)
    switch members.kind {
    case "hello": self = .hello(trouble: try members.optionalText("trouble").map(cut))
    case "wish":
      guard let transport = SocketWish.Transport(rawValue: try members.text("transport")) else {
        throw ProbeMessageError("transport: it is none")
      }
      guard let destination = Destination(try members.value("destination")) else { throw ProbeMessageError("destination: it is none") }
      self = .wish(
        SocketWish(
          errand: try members.number("id"), number: try members.number("wish"), transport: transport, destination: destination))
    case "answer": self = .answer(try members.number("id"), try ErrandAnswer(members))
    default: throw ProbeMessageError("message: it is none that the helper sends")
    }
  }
}

extension ErrandAnswer {
  fileprivate init(_ members: Members) throws(ProbeMessageError) {
    switch try members.text("answer") {
    case "addresses":
      self = .addresses(try members.list("addresses", 1...ProbeLimits.addresses) { $0.string.flatMap { IPAddress($0) } })
    case "no-such-name": self = .noSuchName
    case "no-address": self = .noAddress
    case "silence": self = .silence
    case "failed": self = .failed(reason: cut(try members.text("reason")))
    case "response":
      let digits = try members.text("body")
      guard digits.utf8.count <= 2 * ProbeLimits.body, let body = bytes(fromHex: digits[...]) else {
        throw ProbeMessageError("body: it is none")
      }
      self = .response(status: try members.integer("status", 100...999), body: body)
    case "impostor": self = .impostor(reason: cut(try members.text("reason")))
    case "unanswered": self = .unanswered(reason: cut(try members.text("reason")))
    case "unsent": self = .unsent(reason: cut(try members.text("reason")))
    case "cancelled": self = .cancelled
    default: throw ProbeMessageError("answer: it is none")
    }
  }
}

extension Destination {
  fileprivate init?(_ json: JSON) {
    guard let address = json["address"]?.string.flatMap({ IPAddress($0) }),
      let port = json["port"]?.integer.flatMap({ UInt16(exactly: $0) }),
      port > 0
    else { return nil }
    self.init(address, port: port)
  }
}

/// The members of one message.
private struct Members {
  let kind: String
  private let json: JSON

  init(_ bytes: [UInt8]) throws(ProbeMessageError) {
    do throws(JSONError) { json = try JSON(parsing: bytes) } catch { throw ProbeMessageError("it is no JSON: \(error.reason)") }
    guard json["version"]?.integer == version else { throw ProbeMessageError("version: it is not \(version)") }
    guard let kind = json["message"]?.string else { throw ProbeMessageError("message: it is missing") }
    self.kind = kind
  }

  func value(_ key: String) throws(ProbeMessageError) -> JSON {
    guard let value = json[key] else { throw ProbeMessageError("\(key): it is missing") }
    return value
  }

  func text(_ key: String) throws(ProbeMessageError) -> String {
    guard let text = try value(key).string else { throw ProbeMessageError("\(key): it is no text") }
    return text
  }

  func optionalText(_ key: String) throws(ProbeMessageError) -> String? {
    guard let value = json[key], value != .null else { return nil }
    guard let text = value.string else { throw ProbeMessageError("\(key): it is no text") }
    return text
  }

  func integer(_ key: String, _ range: ClosedRange<Int>) throws(ProbeMessageError) -> Int {
    guard let number = try value(key).integer.flatMap({ Int(exactly: $0) }), range.contains(number) else {
      throw ProbeMessageError("\(key): it is no number of \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  func number(_ key: String) throws(ProbeMessageError) -> UInt32 { UInt32(try integer(key, 0...Int(UInt32.max))) }

  func list<Item>(_ key: String, _ count: ClosedRange<Int>, _ read: (JSON) -> Item?) throws(ProbeMessageError) -> [Item] {
    guard let items = try value(key).array, count.contains(items.count) else {
      throw ProbeMessageError("\(key): it is no list of that length")
    }
    let read = items.compactMap(read)
    guard read.count == items.count else { throw ProbeMessageError("\(key): one of its items cannot be read") }
    return read
  }
}
