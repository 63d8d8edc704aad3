/// One flow of an application, at one end of its connection, as a machine: its endpoint here, which is the application's socket or its
/// destination's, and the other end, which speaks messages. The rules are the same at both ends.
///
/// `close` with `write` means that nothing more comes for the receiver's endpoint, with `read` that nothing more of it is wanted.
public struct SimpleTunnelFlow: Hashable, Sendable {
  public enum Event: Hashable, Sendable {
    /// The endpoint has sent bytes; a datagram has its other end.
    case data([UInt8], host: String? = nil, port: UInt16? = nil)
    /// The endpoint sends no more.
    case ended
    /// The endpoint has not taken all bytes at once.
    case congested
    /// The endpoint has taken all bytes.
    case drained
    /// The endpoint is broken off.
    case broken
    /// The other end has said something.
    case message(SimpleTunnelMessage.Body)
    /// The stream of messages has not taken all bytes at once.
    case streamFull
    case streamDrained
  }

  public enum Action: Hashable, Sendable {
    /// Say this to the other end.
    case tell(SimpleTunnelMessage.Body)
    /// Give the endpoint bytes.
    case write([UInt8], host: String?, port: UInt16?)
    /// Nothing more comes for the endpoint.
    case finish
    /// Read nothing of the endpoint for now.
    case pause
    case resume
    /// The flow is over: close the endpoint, and forget the flow.
    case close
  }

  /// Bytes that an endpoint may have to keep because the other end goes on after `suspend`. A flow with more is closed.
  public static let mostKept = 4 << 20

  /// The direction from the endpoint.
  private enum Reading: Hashable, Sendable {
    case open
    case over
  }

  /// The direction to the endpoint.
  private enum Writing: Hashable, Sendable {
    case open
    /// The endpoint keeps so many bytes of those that it was given.
    case congested(Int)
    /// It ends when the endpoint has taken what it keeps, and with `all` the flow does.
    case ending(all: Bool)
    case over
  }

  private enum Pause: Hashable, Sendable {
    case otherEnd
    case stream
  }

  private var reading = Reading.open
  private var writing = Writing.open
  private var pauses: Set<Pause> = []

  public init() {}

  public mutating func take(_ event: Event) -> [Action] {
    switch event {
    case .data(let bytes, let host, let port): reading == .open ? [.tell(.data(bytes, host: host, port: port))] : []
    case .ended: ended()
    case .congested: congested()
    case .drained: drained()
    case .broken: [.tell(.close(.all)), .close]
    case .message(let body): message(body)
    case .streamFull: pause(.stream)
    case .streamDrained: resume(.stream)
    }
  }

  private mutating func ended() -> [Action] {
    guard reading == .open else { return [] }
    reading = .over
    return [.tell(.close(.write))] + closing
  }

  private mutating func congested() -> [Action] {
    guard writing == .open else { return [] }
    writing = .congested(0)
    return [.tell(.suspend)]
  }

  private mutating func drained() -> [Action] {
    switch writing {
    case .congested:
      writing = .open
      return [.tell(.resume)]
    case .ending(let all):
      writing = .over
      return all ? [.close] : [.finish] + closing
    case .open, .over: return []
    }
  }

  private mutating func message(_ body: SimpleTunnelMessage.Body) -> [Action] {
    switch body {
    case .data(let bytes, let host, let port): write(bytes, host, port)
    case .suspend: pause(.otherEnd)
    case .resume: resume(.otherEnd)
    case .close(.none): []
    case .close(.write): finish()
    case .close(.read): stopReading()
    case .close(.all): closeAll()
    case .dns, .open, .openResult, .packets, .fetchConfiguration: []
    }
  }

  private mutating func write(_ bytes: [UInt8], _ host: String?, _ port: UInt16?) -> [Action] {
    switch writing {
    case .open: return [.write(bytes, host: host, port: port)]
    case .congested(let kept):
      guard kept + bytes.count <= Self.mostKept else { return [.tell(.close(.all)), .close] }
      writing = .congested(kept + bytes.count)
      return [.write(bytes, host: host, port: port)]
    case .ending, .over: return []
    }
  }

  private mutating func finish() -> [Action] {
    switch writing {
    case .open:
      writing = .over
      return [.finish] + closing
    case .congested:
      writing = .ending(all: false)
      return []
    case .ending, .over: return []
    }
  }

  private mutating func stopReading() -> [Action] {
    guard reading == .open else { return [] }
    reading = .over
    return writing == .over ? [.close] : pauses.isEmpty ? [.pause] : []
  }

  /// The bytes that the endpoint keeps still reach it.
  private mutating func closeAll() -> [Action] {
    let wasOpen = reading == .open
    reading = .over
    switch writing {
    case .open, .over: return [.close]
    case .congested, .ending:
      writing = .ending(all: true)
      return wasOpen && pauses.isEmpty ? [.pause] : []
    }
  }

  private var closing: [Action] { reading == .over && writing == .over ? [.close] : [] }

  private mutating func pause(_ reason: Pause) -> [Action] {
    let wasFlowing = pauses.isEmpty
    pauses.insert(reason)
    return wasFlowing && reading == .open ? [.pause] : []
  }

  private mutating func resume(_ reason: Pause) -> [Action] {
    guard pauses.remove(reason) != nil, pauses.isEmpty, reading == .open else { return [] }
    return [.resume]
  }
}

/// The flows of one connection between a client and a server, by their identifiers.
public struct SimpleTunnelFlows: Hashable, Sendable {
  /// Flows of a connection, at most.
  public static let most = 1024

  public enum Action: Hashable, Sendable {
    /// Send the other end a message.
    case tell(SimpleTunnelMessage)
    /// Do this at the endpoint of a flow: everything but `tell`.
    case endpoint(UInt32, SimpleTunnelFlow.Action)
  }

  private var flows: [UInt32: SimpleTunnelFlow] = [:]
  private var isFull = false

  public init() {}

  public var count: Int { flows.count }
  public var identifiers: [UInt32] { flows.keys.sorted() }
  public func has(_ identifier: UInt32) -> Bool { flows[identifier] != nil }

  /// A flow is open. Its endpoint begins to read, unless it is paused at once.
  public mutating func add(_ identifier: UInt32) -> [Action] {
    flows[identifier] = SimpleTunnelFlow()
    return isFull ? take(.streamFull, of: identifier) : []
  }

  /// An event of one flow; none if it is over.
  public mutating func take(_ event: SimpleTunnelFlow.Event, of identifier: UInt32) -> [Action] {
    guard var flow = flows[identifier] else { return [] }
    let actions = flow.take(event)
    flows[identifier] = actions.contains(.close) ? nil : flow
    return actions.map { action in
      if case .tell(let body) = action {
        .tell(SimpleTunnelMessage(identifier: identifier, body: body))
      } else {
        .endpoint(identifier, action)
      }
    }
  }

  /// The stream of messages has not taken all bytes at once: nothing more is read of any endpoint.
  public mutating func fill() -> [Action] {
    guard !isFull else { return [] }
    isFull = true
    return identifiers.flatMap { take(.streamFull, of: $0) }
  }

  public mutating func drain() -> [Action] {
    guard isFull else { return [] }
    isFull = false
    return identifiers.flatMap { take(.streamDrained, of: $0) }
  }
}
