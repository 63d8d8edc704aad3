internal import AgentCore
internal import ProviderProtocol
internal import RoamwardCore

/// The credentials of installed providers: each is sent once for a run that opened it, as on a real machine.
package struct SimulatedCredentials {
  /// The tunnels whose provider keeps something for its next run.
  package var keeping: Set<String> = []
  /// The files that cannot be opened.
  package var unreadable: Set<String> = []
  /// Those that reached programs: tunnel and name.
  package private(set) var sent: [String] = []
  /// Those of starts by hand, with their content.
  package private(set) var secrets: [String] = []
  private var opened: [String: Set<Word>] = [:]

  mutating func open(_ tunnel: String, _ provider: InstalledProviderConfiguration) throws(PlatformError) -> Bool {
    if let credential = provider.credentials.first(where: { unreadable.contains($0.path) }) {
      throw PlatformError("the credential \(credential.path) cannot be opened: Permission denied")
    }
    let kept = keeping.contains(tunnel)
    opened[tunnel] = Set(provider.credentials.compactMap { Word($0.name) } + (kept ? [ProtocolLimits.keptCredential] : []))
    return kept
  }

  /// A secret that the agent has in memory.
  mutating func keep(_ name: ProviderSession.Attachment, _ bytes: [UInt8], of tunnel: String) {
    guard case .credential(let name) = name else { return }
    opened[tunnel, default: []].insert(name)
    secrets.append("\(tunnel) \(name) \(String(decoding: bytes, as: UTF8.self))")
  }

  /// Whether a message takes a descriptor with it.
  mutating func take(_ attachment: ProviderSession.Attachment?, of tunnel: String) -> Bool {
    guard case .credential(let name) = attachment else { return attachment != nil }
    guard opened[tunnel]?.remove(name) != nil else { return false }
    sent.append("\(tunnel) \(name)")
    return true
  }
}
