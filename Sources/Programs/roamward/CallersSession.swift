import ArgumentParser
import Glibc
import LinuxIO
import NetworkTypes

/// Detects if this program was called over SSH, and from which address.
struct SessionOptions: ParsableArguments {
  @Flag(help: "Proceed even if this cuts your SSH session.") var evenSsh = false

  /// The sources of sessions that must not be interrupted.
  var sessions: [IPAddress] { evenSsh ? [] : callersSessions() }
}

/// The remote addresses of the SSH session in which this program runs; empty if there is none.
///
/// sshd(8) sets SSH_CONNECTION. sudo(8) removes it, so the parent processes are checked too. A terminal multiplexer outlives its first
/// session. If the kernel no longer has that connection, every session that arrived at the same port is a candidate.
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

/// A variable of this process, or of its nearest ancestor that has it and is readable.
private func environmentOfCallers(_ name: String) -> String? {
  if let own = getenv(name) { return String(cString: own) }
  var process = getppid()
  while process > 1 {
    let variables = (try? TextFile.read("/proc/\(process)/environ"))?.split(separator: 0) ?? []
    if let found = variables.first(where: { $0.starts(with: Array("\(name)=".utf8)) }) {
      return String(decoding: found.dropFirst(name.utf8.count + 1), as: UTF8.self)
    }
    // The name in parentheses may contain anything; the state and the parent follow it.
    guard let status = try? TextFile.read("/proc/\(process)/stat"), let end = status.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let words = String(decoding: status[(end + 1)...], as: UTF8.self).split(separator: " ")
    guard words.count > 1, let parent = Int32(words[1]), parent != process else { return nil }
    process = parent
  }
  return nil
}
