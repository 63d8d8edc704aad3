package import GatewayCore
package import NetworkTypes
package import PageProtocol

/// The life of the page, without IO: the process that reads browsers' bytes is started, greets, and gets connections; after a failure it is
/// started again.
package struct PageLife: Sendable {
  /// The settings for which the process and its sockets are made.
  package struct Setting: Equatable, Sendable {
    package let page: PageSettings
    package let link: String
    /// The number of the link: a link that is made anew has another one. 0: there is none yet.
    package let index: UInt32
    package let addresses: [IPAddress]

    package init(page: PageSettings, link: String, index: UInt32, addresses: [IPAddress]) {
      self.page = page
      self.link = link
      self.index = index
      self.addresses = addresses
    }
  }

  /// The name of one pause: the end of an earlier one has another name.
  package struct Pause: Hashable, Sendable { fileprivate let number: UInt64 }

  package enum Phase: Sendable {
    /// The gateway has no page.
    case off
    /// For the link, or after a failure.
    case waiting(Setting, Pause)
    /// The process has not greeted.
    case starting(Setting)
    case serving(Setting, PageConnectionTable)
  }

  package enum Event: Equatable, Sendable {
    /// The settings may have changed; `nil`: there is no page.
    case wanted(Setting?)
    /// A pause is over.
    case again(Pause, Setting?)
    /// The process has greeted, and connections are accepted for it.
    case accepting
    /// The process cannot be started, or has ended: the reason, and the moment for the next start.
    case failed(String, again: Moment)
  }

  package enum Effect: Equatable, Sendable {
    /// Open the sockets, and start the process; `accepting` or `failed` follows.
    case start(Setting)
    /// End the process, and close the sockets.
    case stop
    /// Give `again` at this moment. It replaces an earlier pause.
    case wait(Pause, until: Moment)
    /// Record the trouble of the page; `nil`: there is none.
    case record(String?)
    case log(String)
  }

  /// The link may be about to be made: until the next look.
  package static let linkPause = Duration.seconds(1)

  package private(set) var phase = Phase.off
  private var lastPause = Pause(number: 0)

  package init() {}

  /// The settings in force; `nil`: there is no page.
  package var setting: Setting? {
    switch phase {
    case .off: nil
    case .waiting(let setting, _), .starting(let setting), .serving(let setting, _): setting
    }
  }

  /// The connections of browsers; `nil` while there can be none.
  package var connections: PageConnectionTable? {
    get { if case .serving(_, let connections) = phase { connections } else { nil } }
    set { if case .serving(let setting, _) = phase, let newValue { phase = .serving(setting, newValue) } }
  }

  /// Takes an event, and returns its effects in their order.
  package mutating func take(_ event: Event, at now: Moment) -> [Effect] {
    switch event {
    case .wanted(let wanted): return wanted == setting ? [] : change(to: wanted, at: now)
    case .again(let pause, let wanted):
      guard case .waiting(_, let present) = phase, present == pause else { return [] }
      guard let wanted else { return change(to: nil, at: now) }
      return start(wanted, at: now)
    case .accepting:
      guard case .starting(let setting) = phase else { return [] }
      phase = .serving(setting, PageConnectionTable())
      return [.record(nil), .log("at TCP port \(setting.page.port) of \(setting.link)")]
    case .failed(let text, let again):
      guard let setting else { return [] }
      return [.log(text), .record(text), .stop, wait(setting, until: again)]
    }
  }

  private mutating func change(to wanted: Setting?, at now: Moment) -> [Effect] {
    phase = .off
    return [.stop, .record(nil)] + (wanted.map { start($0, at: now) } ?? [])
  }

  private mutating func start(_ setting: Setting, at now: Moment) -> [Effect] {
    if setting.index == 0 { return [wait(setting, until: now + Self.linkPause)] }
    phase = .starting(setting)
    return [.start(setting)]
  }

  private mutating func wait(_ setting: Setting, until moment: Moment) -> Effect {
    lastPause = Pause(number: lastPause.number + 1)
    phase = .waiting(setting, lastPause)
    return .wait(lastPause, until: moment)
  }
}

/// The connections of browsers that the process has, by number.
package struct PageConnectionTable: Sendable {
  package struct Connection: Equatable, Sendable {
    package let address: IPAddress
    package let holder: PageConnections.Holder
    fileprivate let end: Moment
  }

  /// The time in which a connection may ask: longer than the process keeps it. So a process that has been taken over cannot keep one.
  package static let life = Duration.seconds(20)

  private var connections: [UInt32: Connection] = [:]
  private var lastNumber: UInt32 = 0

  package init() {}

  package var count: Int { connections.count }

  /// Takes a connection. Returns its number; `nil`: this user or device has too many, or all have.
  package mutating func open(from address: IPAddress, by holder: PageConnections.Holder, at now: Moment) -> UInt32? {
    connections = connections.filter { now < $0.value.end }
    guard PageConnections.hasRoom(for: holder, among: connections.values.lazy.map(\.holder)) else { return nil }
    repeat { lastNumber &+= 1 } while lastNumber == 0 || connections[lastNumber] != nil
    connections[lastNumber] = Connection(address: address, holder: holder, end: now + Self.life)
    return lastNumber
  }

  /// A connection that may ask now.
  package func connection(_ number: UInt32, at now: Moment) -> Connection? {
    connections[number].flatMap { now < $0.end ? $0 : nil }
  }

  package mutating func close(_ number: UInt32) { connections[number] = nil }
}
