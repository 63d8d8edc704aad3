package import NetworkTypes

/// The way of a device's packet from the client to the other side: every step that can stop it, in order.
package struct PacketEvaluation: Hashable, Sendable {
  package enum Place: String, Hashable, Sendable {
    /// The routes of the client.
    case client
    /// The lease of the sender's address.
    case lease
    /// The user of the device.
    case user
    /// The session of the device.
    case session
    /// The rules of access.
    case access
    /// The device that has the destination's address.
    case device
    /// The kernel's forwarding on the gateway's machine.
    case forwarding
    /// The routes of the gateway's machine.
    case route
  }

  package struct Step: Hashable, Sendable {
    package let place: Place
    package let isOpen: Bool
    package let text: String
  }

  package private(set) var steps: [Step] = []
  /// The rule that decides; `nil`: none matches.
  package private(set) var rule: GatewayName?
  /// The packet's source address.
  package private(set) var source: IPAddress?
  /// `nil`: not asked for.
  package private(set) var path: HostPath?
  /// Whether it leaves with the gateway's own address.
  package private(set) var isTranslated = false

  package var firstStop: Place? { steps.first { !$0.isOpen }?.place }
  package var passes: Bool { firstStop == nil }

  package var lines: [String] {
    steps.map { "\($0.isOpen ? "pass" : "STOP")  \($0.place): \($0.text)" }
      + (isTranslated ? ["note  masquerade: it leaves with the gateway's own address"] : [])
  }

  /// `path`: what the gateway's machine does with a packet from this source address; `nil`: not known.
  package init(
    _ directory: Directory, _ device: Device, to destination: IPAddress, _ transport: Transport, port: UInt16?, at now: Timestamp,
    path: (_ source: IPAddress) -> HostPath? = { _ in nil }
  ) {
    let settings = directory.pushedSettings(of: device)
    let routes = settings.routes ?? directory.sortedPools.map(\.prefix)
    let route = routes.filter { $0.contains(destination) }.max { $0.length < $1.length }
    judge(.client, route != nil, route.map { "sends \($0) into the tunnel" } ?? "its routes do not contain \(destination)")
    let own = directory.addresses(of: device.id).filter { $0.family == destination.family }
    source = own.first
    judge(
      .lease, source != nil,
      source.map { "source address \($0)" } ?? "the device has no address of this family (no pool of it)")
    if let user = directory.users[device.user] {
      judge(.user, user.isActive(at: now), user.isLocked ? "\(user.name) is locked" : user.isActive(at: now) ? "active" : "expired")
    }
    if directory.hasEnded(device) { judge(.session, false, "it was ended; the device has to log in again") }
    self.path = source.flatMap(path)
    if let port, port == GatewayTable.questions.port, transport == .udp, self.path == .local {
      judge(.access, false, "UDP port \(GatewayTable.questions.port) of the gateway's machine is for the gateway's own datagrams")
    } else {
      let decision = AccessDecision(
        AccessQuestion(user: device.user, destination: destination, transport: transport, port: port), in: directory)
      rule = decision.rule?.name
      judge(.access, decision.isAllowed, decision.text(in: directory))
    }
    let pool = directory.sortedPools.first { $0.prefix.contains(destination) }
    if let pool, pool.gateway?.address != destination {
      let isLeased = directory.lease(of: destination)?.device != nil
      judge(.device, isLeased, isLeased ? "a device has \(destination)" : "no device has \(destination)")
    }
    if let path = self.path { judge(path, to: destination) }
    guard pool == nil, self.path?.isLocal != true else { return }
    isTranslated = directory.sortedPools.contains { pool in pool.isTranslated && own.contains { pool.prefix.contains($0) } }
  }

  private mutating func judge(_ place: Place, _ isOpen: Bool, _ text: String) {
    steps.append(Step(place: place, isOpen: isOpen, text: text))
  }

  private mutating func judge(_ path: HostPath, to destination: IPAddress) {
    switch path {
    case .local: judge(.route, true, "\(destination) is the gateway's own")
    case .leaves(let link, let nextHop?): judge(.route, true, "by \(nextHop) on \(link)")
    case .leaves(let link, nil): judge(.route, true, "on \(link)")
    case .withoutCarrier(let link): judge(.route, false, "on \(link), which has no carrier")
    case .notForwarded: judge(.forwarding, false, "the gateway's machine forwards no packets of this family")
    case .noRoute(let reason): judge(.route, false, "the gateway's machine has no route to \(destination) (\(reason))")
    }
  }
}

/// The route of a device's packet that the rules allow, as the kernel of the gateway's machine chooses it.
package enum HostPath: Hashable, Sendable {
  /// It is for the machine itself.
  case local
  /// It leaves by this link, to this router; `nil`: the destination is on the link.
  case leaves(link: String, nextHop: IPAddress?)
  /// The link that it would leave by has no carrier.
  case withoutCarrier(link: String)
  case notForwarded
  case noRoute(String)

  var isLocal: Bool { self == .local }
}
