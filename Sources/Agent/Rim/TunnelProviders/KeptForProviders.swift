internal import Glibc
internal import LinuxIO
internal import ProviderProtocol
internal import RoamwardCore

/// The bytes that the agent keeps for providers: a file for each tunnel that only root can read. Its first line is the provider's program:
/// another provider under the same tunnel's name gets nothing.
struct KeptForProviders {
  let folder: String

  private func path(_ tunnel: String) -> String { "\(folder)/\(tunnel)" }

  /// `nil`: nothing is kept.
  func read(_ tunnel: String, _ program: ProviderProgram) -> [UInt8]? {
    let head = Array("\(program.path)\n".utf8)
    guard let bytes = try? TextFile.read(path(tunnel), limit: head.count + ProtocolLimits.kept), bytes.starts(with: head),
      bytes.count > head.count
    else { return nil }
    return Array(bytes.dropFirst(head.count))
  }

  /// Nothing: forgets it.
  func write(_ bytes: [UInt8], _ tunnel: String, _ program: ProviderProgram) throws(SystemError) {
    if bytes.isEmpty { return try TextFile.remove(path(tunnel)) }
    try Folder.make(folder, mode: 0o700)
    try TextFile.replace(path(tunnel), with: Array("\(program.path)\n".utf8) + bytes, mode: 0o600)
  }
}
