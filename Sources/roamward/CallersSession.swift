import ArgumentParser
import Glibc
import LinuxIO
import NetworkTypes

/// Whether this program was called over SSH, and from where.
struct SessionOptions: ParsableArguments {
  @Flag(help: "Proceed even if this cuts your SSH session.") var evenSsh = false

  /// Where sessions come from that must go on.
  var sessions: [IPAddress] { evenSsh ? [] : callersSessions() }
}

/// The far ends of the SSH session that this program runs in; none where it runs in none.
///
/// sshd(8) says it in SSH_CONNECTION. sudo(8) takes that away, so the programs above this one are asked too. A terminal multiplexer
/// outlives the session that it was started in: where the kernel does not have the connection any more, every session that has come in
/// by the same port may be the one.
private func callersSessions() -> [IPAddress] {
  guard let said = environmentOfCallers("SSH_CONNECTION") else { return [] }
  return sessions(said, among: TCPConnection.all)
}

func sessions(_ said: String, among connections: [TCPConnection]?) -> [IPAddress] {
  let words = said.split(separator: " ")
  guard words.count == 4, let client = IPAddress(String(words[0].prefix { $0 != "%" })), let port = UInt16(words[1]),
    let own = UInt16(words[3])
  else { return [] }
  guard let connections else { return [client] }
  if connections.contains(TCPConnection(localPort: own, remote: client, remotePort: port)) { return [client] }
  return Set(connections.filter { $0.localPort == own && !$0.remote.isLoopback }.map(\.remote)).sorted()
}

/// A variable of this process, or of the nearest one above it that has it and may be asked.
private func environmentOfCallers(_ name: String) -> String? {
  if let own = getenv(name) { return String(cString: own) }
  var process = getppid()
  while process > 1 {
    let variables = (try? TextFile.read("/proc/\(process)/environ"))?.split(separator: 0) ?? []
    if let found = variables.first(where: { $0.starts(with: Array("\(name)=".utf8)) }) {
      return String(decoding: found.dropFirst(name.utf8.count + 1), as: UTF8.self)
    }
    // The name in parentheses may hold anything; what follows is the state and the parent.
    guard let status = try? TextFile.read("/proc/\(process)/stat"), let end = status.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let words = String(decoding: status[(end + 1)...], as: UTF8.self).split(separator: " ")
    guard words.count > 1, let parent = Int32(words[1]), parent != process else { return nil }
    process = parent
  }
  return nil
}
