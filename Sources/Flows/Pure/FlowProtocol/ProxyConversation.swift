package import NetworkTypes

/// A client's conversation with the proxy until its flow is open, as a machine over bytes: SOCKS5 (RFC 1928) without authentication, or
/// CONNECT of HTTP/1 (RFC 9110 section 9.3.6). The first byte tells them apart.
package struct ProxyConversation: Sendable {
  /// Something to do with the bytes of a client, in this order.
  package enum Step: Hashable, Sendable {
    /// Send this; the conversation goes on.
    case answer([UInt8])
    /// Open this flow, and then call `accept` or `refuse`. Read nothing meanwhile.
    case request(FlowRequest)
    /// Send this, and close. Empty: the client speaks neither dialect, so it understands no answer.
    case refusal([UInt8], FlowFailure)
  }

  /// Bytes of the head of a CONNECT, at most.
  package static let longestHead = 8192

  private enum Dialect: Hashable, Sendable {
    case socks
    case http
  }

  private enum Phase: Hashable, Sendable {
    /// No byte has come.
    case opening
    /// The methods of authentication of SOCKS5.
    case greeting
    case request
    /// The head of an HTTP request.
    case head
    /// The client waits for its flow.
    case asked(Dialect)
    /// The flow is open, or refused.
    case over
  }

  /// The outcome of a look at the buffer.
  private enum Progress {
    /// It needs more bytes.
    case waits
    /// Another phase began.
    case moves
    case step(Step)
  }

  private var phase = Phase.opening
  /// Bytes that are not read yet; after the request those that the client has sent ahead.
  private var buffer: [UInt8] = []

  package init() {}

  /// Takes bytes of the client. At most `longestHead` and the bytes of one call are kept.
  package mutating func receive(_ bytes: [UInt8]) -> [Step] {
    if phase == .over { return [] }
    buffer += bytes
    var steps: [Step] = []
    while true {
      switch next() {
      case .waits: return steps
      case .moves: continue
      case .step(let step):
        steps.append(step)
        if case .refusal = step {
          phase = .over
          buffer = []
        }
      }
    }
  }

  /// The flow is open. `at`: the place of the proxy to which the client sends datagrams. Returns the answer, and what the client has sent
  /// ahead.
  package mutating func accept(at place: (address: IPAddress, port: UInt16)? = nil) -> (answer: [UInt8], ahead: [UInt8]) {
    guard case .asked(let dialect) = phase else { return ([], []) }
    phase = .over
    defer { buffer = [] }
    switch dialect {
    // The address of the other socket tells a client nothing that it could use.
    case .socks: return ([5, 0, 0] + SOCKSAddress.bytes(place?.address ?? .unspecified(.v4), port: place?.port ?? 0), buffer)
    case .http: return (Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8), buffer)
    }
  }

  /// The flow is not opened. Returns the answer; the connection is then to be closed.
  package mutating func refuse(_ failure: FlowFailure) -> [UInt8] {
    let dialect: Dialect? =
      switch phase {
      case .asked(let dialect): dialect
      case .head: .http
      case .request: .socks
      case .opening, .greeting, .over: nil
      }
    phase = .over
    buffer = []
    return dialect.map { Self.refusal($0, failure) } ?? []
  }

  private static func refusal(_ dialect: Dialect, _ failure: FlowFailure) -> [UInt8] {
    switch dialect {
    case .socks: return [5, failure.reply, 0] + SOCKSAddress.bytes(.unspecified(.v4), port: 0)
    case .http:
      let text = failure.text + "\n"
      let fields =
        (failure == .unsupportedCommand ? ["Allow: CONNECT"] : []) + [
          "Proxy-Status: roamward; error=\(failure.statusType)", "Content-Type: text/plain", "Content-Length: \(text.utf8.count)",
          "Connection: close",
        ]
      return Array((["HTTP/1.1 \(failure.status)"] + fields + ["", text]).joined(separator: "\r\n").utf8)
    }
  }

  private mutating func next() -> Progress {
    switch phase {
    case .opening:
      guard let first = buffer.first else { return .waits }
      switch first {
      case 5: phase = .greeting
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): phase = .head
      // Version 4 has an answer of its own: rejected.
      case 4: return .step(.refusal([0, 91, 0, 0, 0, 0, 0, 0], .malformed))
      default: return .step(.refusal([], .malformed))
      }
      return .moves
    case .greeting: return greeting()
    case .request: return request()
    case .head: return head()
    case .asked, .over: return .waits
    }
  }

  private mutating func greeting() -> Progress {
    guard buffer.count >= 2, buffer.count >= 2 + Int(buffer[1]) else { return .waits }
    let methods = buffer[2..<2 + Int(buffer[1])]
    // No acceptable methods.
    guard methods.contains(0) else { return .step(.refusal([5, 0xff], .malformed)) }
    buffer.removeFirst(2 + methods.count)
    phase = .request
    return .step(.answer([5, 0]))
  }

  private mutating func request() -> Progress {
    guard let version = buffer.first else { return .waits }
    guard version == 5 else { return refusal(.socks, .malformed) }
    guard buffer.count >= 2 else { return .waits }
    guard buffer[1] == 1 || buffer[1] == 3 else { return refusal(.socks, .unsupportedCommand) }
    guard buffer.count >= 3 else { return .waits }
    switch SOCKSAddress.read(buffer[3...]) {
    case .incomplete: return .waits
    case .unknownType: return refusal(.socks, .unsupportedAddress)
    case .place(let place, let count):
      let isStream = buffer[1] == 1
      buffer.removeFirst(3 + count)
      guard isStream else { return ask(.datagrams(port: place.port == 0 ? nil : place.port), .socks) }
      guard place.host != nil else { return refusal(.socks, .noSuchHost) }
      guard let endpoint = place.endpoint else { return refusal(.socks, .malformed) }
      return ask(.stream(endpoint), .socks)
    }
  }

  private mutating func head() -> Progress {
    guard let end = Self.endOfHead(in: buffer) else {
      return buffer.count > Self.longestHead ? refusal(.http, .tooLong) : .waits
    }
    guard end <= Self.longestHead else { return refusal(.http, .tooLong) }
    let line = buffer.prefix { $0 != 13 }
    let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { return refusal(.http, .malformed) }
    guard words[0] == "CONNECT" else { return refusal(.http, .unsupportedCommand) }
    guard let endpoint = Endpoint(words[1]) else { return refusal(.http, .malformed) }
    buffer.removeFirst(end)
    return ask(.stream(endpoint), .http)
  }

  /// The place after the empty line that ends the head.
  private static func endOfHead(in bytes: [UInt8]) -> Int? {
    var place = 0
    while place + 4 <= bytes.count {
      if bytes[place + 3] != 10 { place += bytes[place + 3] == 13 ? 1 : 4; continue }
      if bytes[place] == 13, bytes[place + 1] == 10, bytes[place + 2] == 13 { return place + 4 }
      place += 1
    }
    return nil
  }

  private func refusal(_ dialect: Dialect, _ failure: FlowFailure) -> Progress { .step(.refusal(Self.refusal(dialect, failure), failure)) }

  private mutating func ask(_ request: FlowRequest, _ dialect: Dialect) -> Progress {
    phase = .asked(dialect)
    return .step(.request(request))
  }
}
