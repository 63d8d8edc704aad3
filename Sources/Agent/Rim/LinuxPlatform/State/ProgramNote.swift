import AgentCore
internal import JSON
internal import KernelModel
internal import RoamwardCore

/// The groups of programs that were started with a route of their own, as one note. Their numbers belong to one boot.
struct ProgramNote: Codable {
  static let name = "programs"

  private struct Group: Codable {
    var path: String
    /// 0: it may not have been made.
    var number: Int64
    var level: Int
    var user: Int64
    /// Without one, outside.
    var tunnel: String?
    var route: Int64?

    private enum CodingKeys: String, CodingKey {
      case path, number, level, user, tunnel
      case route = "class"
    }
  }

  private var boot: String?
  private var groups: [Group]

  init(_ programs: [ProgramGroup], boot: String) {
    self.boot = boot
    groups = programs.map { program in
      var number: Int64?
      if case .through(_, let known) = program.route { number = Int64(known) }
      return Group(
        path: program.path, number: Int64(bitPattern: program.group.number), level: program.group.level, user: Int64(program.user),
        tunnel: program.route.tunnel, route: number)
    }
  }

  var programs: [ProgramGroup] {
    groups.compactMap { group in
      var route = ProgramRoute.outside
      if let tunnel = group.tunnel {
        guard let number = group.route.flatMap({ UInt32(exactly: $0) }), (1...0xffff).contains(number) else { return nil }
        route = .through(tunnel, number: number)
      }
      return ProgramGroup(
        path: group.path, group: ProviderGroup(number: UInt64(bitPattern: group.number), level: group.level), route: route,
        user: UInt32(clamping: group.user))
    }
  }
}

extension [String: JSON] {
  /// The programs in these notes.
  var programs: [ProgramGroup] { (try? self[ProgramNote.name]?.decoded(as: ProgramNote.self).programs) ?? [] }
}
