internal import JSON

/// A line that nebula(1) logs as JSON.
package enum NebulaLine: Equatable, Sendable {
  /// Its device has its address and is up.
  case active
  /// It has begun a handshake: there is a host that it wants to reach.
  case wanting
  /// A handshake with this host is complete.
  case reached(host: String)
  /// The tunnel to this host is dead.
  case lost(host: String)
  /// Any other line. `isLoud`: an error or a warning.
  case other(String, isLoud: Bool)

  /// Reads any line: what is no JSON is from before its log is set up.
  package init(_ line: Substring) {
    guard let value = try? JSON(parsing: Array(line.utf8)), let message = value["msg"]?.string else {
      self = .other(String(line.prefix(500)), isLoud: true)
      return
    }
    let host = value["vpnIp"]?.string ?? ""
    switch message {
    case "Nebula interface is active": self = .active
    case "Handshake message sent", "Failed to send handshake message": self = .wanting
    case "Handshake message received": self = .reached(host: host)
    case "Tunnel status" where value["tunnelCheck"]?["state"]?.string == "dead": self = .lost(host: host)
    default:
      let level = value["level"]?.string ?? "info"
      let words = [message, value["error"]?.string].compactMap { $0 }.joined(separator: ": ")
      self = .other(String(words.prefix(500)), isLoud: ["fatal", "error", "warning", "panic"].contains(level))
    }
  }
}
