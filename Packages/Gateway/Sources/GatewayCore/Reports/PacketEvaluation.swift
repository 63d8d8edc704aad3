package import NetworkTypes

extension Directory {
  /// What becomes of a device's packet, from the client to the other side: every place that can stop it, in the order of its way.
  package func evaluate(
    _ device: Device, to destination: IPAddress, _ transport: Transport, port: UInt16?, at now: Int64
  ) -> (lines: [String], passes: Bool) {
    var lines: [String] = []
    var passes = true
    func judge(_ place: String, _ isOpen: Bool, _ text: String) {
      lines.append("\(isOpen ? "pass" : "STOP")  \(place): \(text)")
      if !isOpen { passes = false }
    }
    let settings = pushedSettings(of: device)
    let routes = settings.routes ?? sortedPools.map(\.prefix)
    let route = routes.filter { $0.contains(destination) }.max { $0.length < $1.length }
    judge("client", route != nil, route.map { "sends \($0) into the tunnel" } ?? "its routes do not contain \(destination)")
    let own = addresses(of: device.id).filter { $0.family == destination.family }
    judge(
      "lease", !own.isEmpty,
      own.first.map { "source address \($0)" } ?? "the device has no address of this family (no pool of it)")
    if let user = users[device.user] {
      judge("user", user.isActive(at: now), user.isLocked ? "\(user.name) is locked" : user.isActive(at: now) ? "active" : "expired")
    }
    let decision = AccessDecision(
      AccessQuestion(user: device.user, destination: destination, transport: transport, port: port), in: self)
    judge("access", decision.isAllowed, text(of: decision))
    if let pool = sortedPools.first(where: { pool in own.contains { pool.prefix.contains($0) } }) {
      let isInside = sortedPools.contains { $0.prefix.contains(destination) }
      if pool.isTranslated, !isInside { lines.append("note  masquerade: it leaves with the gateway's own address") }
    }
    return (lines, passes)
  }
}
