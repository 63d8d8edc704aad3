package import KernelModel

/// The route of the packets of programs that have one of their own (`roamward run`).
package enum ProgramRoute: Hashable, Sendable {
  /// Outside of every tunnel, past kill switches.
  case outside
  /// Through one tunnel, or not at all. `number`: that of the class, which its sockets have in their marks.
  case through(String, number: UInt32)

  /// The mark of their sockets.
  package var mark: UInt32 {
    switch self {
    case .outside: Ownership.outsideMark
    case .through(_, let number): Ownership.programMark(number)
    }
  }

  package var tunnel: String? { if case .through(let tunnel, _) = self { tunnel } else { nil } }
}

/// A control group of programs whose packets have a route of their own. It is below the group in which `roamward run` was started, and ends
/// with its last program.
package struct ProgramGroup: Hashable, Sendable {
  /// The path from the root of the hierarchy.
  package var path: String
  /// The number is 0 until the group is made.
  package var group: ProviderGroup
  package var route: ProgramRoute
  /// The user who started the first program in it.
  package var user: UInt32

  package init(path: String, group: ProviderGroup, route: ProgramRoute, user: UInt32) {
    self.path = path
    self.group = group
    self.route = route
    self.user = user
  }
}

extension ProgramGroup {
  /// Whether Roamward has made the group; policies name others (`apps`).
  package var isMade: Bool {
    let parts = path.split(separator: "/").last?.split(separator: "-", maxSplits: 2) ?? []
    return parts.count == 3 && parts[0] == "roamward" && parts[1].utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }
}

extension [ProgramGroup] {
  /// The numbers of the tunnels' classes.
  package var classes: [String: UInt32] {
    Dictionary(compactMap { if case .through(let tunnel, let number) = $0.route { (tunnel, number) } else { nil } }) { first, _ in first }
  }

  /// The number of a tunnel's class: the present one, or the lowest that is free.
  package func number(of tunnel: String) -> UInt32 {
    let known = classes
    if let number = known[tunnel] { return number }
    let used = Set(known.values)
    return (1...0xffff).first { !used.contains($0) } ?? 0xffff
  }

  /// The groups that may pass kill switches.
  package var outside: [ProviderGroup] { filter { $0.route == .outside && $0.group.number != 0 }.map(\.group) }
}

extension PolicySet {
  /// The control groups that policies name, with the route of their programs' packets. A group that several name has the route that the
  /// first tunnel gives it. `known`: the groups that have a route now, whose classes keep their numbers.
  package func programGroups(beside known: [ProgramGroup]) -> [ProgramGroup] {
    var groups: [ProgramGroup] = []
    func add(_ app: App, _ route: ProgramRoute) {
      guard let path = app.group, !groups.contains(where: { $0.path == path }) else { return }
      groups.append(ProgramGroup(path: path, group: ProviderGroup(number: 0, level: 0), route: route, user: 0))
    }
    for tunnel in tunnels where tunnel.isEnabled {
      for app in tunnel.apps?.include ?? [] {
        add(app, .through(tunnel.name, number: (known + groups).number(of: tunnel.name)))
      }
      for app in tunnel.apps?.exclude ?? [] { add(app, .outside) }
    }
    return groups
  }
}
