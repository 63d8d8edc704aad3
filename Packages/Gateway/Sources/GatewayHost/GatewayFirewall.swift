package import GatewayCore
internal import GatewayStore
package import KernelNetwork
internal import LinuxIO
internal import NetworkTypes

/// The gateway's table of nftables in the kernel: compared with its listing, replaced as a whole, or changed element by element.
///
/// The input of nftables cannot be compared with its listing. So the digests of both are noted in a file after each change, and a restarted
/// gateway finds that nothing has to be done.
package final class GatewayFirewall {
  private let commands: NftablesCommands
  private let notePath: String
  /// The table that the kernel has, if it still has the noted listing.
  private var applied: GatewayTable?

  package init(_ folder: StateFolder) throws(NftablesError) {
    commands = try NftablesCommands()
    notePath = "\(folder.path)/firewall"
  }

  /// What is to be done.
  package enum Drift: Hashable, Sendable {
    case none
    /// A few elements of maps and sets.
    case elements(String)
    /// The table is missing, another one, or changed by another program.
    case table
  }

  package func drift(to table: GatewayTable) throws(NftablesError) -> Drift {
    guard let listing = try commands.list(GatewayTable.name) else { return .table }
    let present = applied ?? table
    guard note == Self.note(present, listing) else { return .table }
    switch table.changes(from: present) {
    case nil: return .table
    case ""?: return .none
    case let changes?: return .elements(changes)
    }
  }

  /// Makes the table as wanted, and returns what had to be done.
  @discardableResult package func apply(_ table: GatewayTable) throws(NftablesError) -> Drift {
    let drift = try drift(to: table)
    switch drift {
    case .none: break
    case .elements(let changes): try commands.run(changes)
    case .table: try commands.run(table.transaction)
    }
    if drift != .none, let listing = try commands.list(GatewayTable.name) {
      try? TextFile.replace(notePath, with: Array(Self.note(table, listing).utf8), mode: 0o600)
    }
    applied = table
    return drift
  }

  package func remove() throws(NftablesError) {
    try commands.run(GatewayTable.removal)
    try? TextFile.remove(notePath)
    applied = nil
  }

  private var note: String? { (try? TextFile.read(notePath)).map { String(decoding: $0, as: UTF8.self) } }

  private static func note(_ table: GatewayTable, _ listing: String) -> String {
    [table.transaction, listing].map { GatewayStore.digest(Array($0.utf8)).map(hexadecimal).joined() }.joined(separator: " ") + "\n"
  }
}
