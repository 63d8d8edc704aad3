internal import Lives

/// Whether packets pass through a program's tunnel, and whether the agent knows. The agent is told `ready` when its settings are applied
/// and there is a path.
package struct Traffic: Equatable, Sendable {
  /// The settings of the tunnel.
  enum Settings: Equatable, Sendable {
    case unknown
    /// The agent applies them. Its answer carries this token.
    case requested(LifeToken)
    case applied
  }

  /// The way to the other end.
  enum Path: Equatable, Sendable {
    case none
    /// It is there, and the agent has not been told so, or was told of a doubt since.
    case found
    /// The agent was told `ready`.
    case told
  }

  private(set) var settings = Settings.unknown
  private(set) var path = Path.none

  var isReady: Bool { path == .told }

  /// Other settings are requested. Those before stay in effect meanwhile, and so does `ready`.
  mutating func request() -> LifeToken {
    let token = LifeToken()
    settings = .requested(token)
    return token
  }

  /// The answer to the last request. Returns whether the tunnel has become ready.
  mutating func applied(_ request: LifeToken) -> Bool {
    guard settings == .requested(request) else { return false }
    settings = .applied
    return path == .found && tell()
  }

  /// There is a path. Returns whether the tunnel has become ready.
  mutating func found() -> Bool {
    guard path != .told else { return false }
    path = .found
    return settings == .applied && tell()
  }

  /// The path is gone, or in doubt: then further settings, or `found`, make the tunnel ready again. Returns whether it was ready.
  mutating func lost(isDoubt: Bool) -> Bool {
    defer { path = isDoubt && path != .none ? .found : .none }
    return path == .told
  }

  private mutating func tell() -> Bool {
    path = .told
    return true
  }
}
