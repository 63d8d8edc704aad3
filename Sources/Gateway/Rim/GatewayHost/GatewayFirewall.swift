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
  private let numbers: RulesetNumbers
  private let notePath: String
  /// The table that the kernel has as long as its ruleset has the number of `isKnownAt`, or the noted listing.
  package private(set) var applied: GatewayTable?
  private var isKnownAt: UInt32?
  /// Whether the note has the number instead of digests.
  private var isBrief = false

  package init(_ folder: StateFolder) throws {
    commands = try NftablesCommands()
    numbers = try RulesetNumbers()
    notePath = "\(folder.path)/firewall"
  }

  /// The difference between the kernel's table and the desired one.
  package enum Drift: Hashable, Sendable {
    case none
    /// A few elements of maps and sets.
    case elements(String)
    /// The table is missing, another one, or changed by another program.
    case table
  }

  package func drift(to table: GatewayTable) throws(NftablesError) -> Drift {
    if let applied, isKnownAt != nil, isKnownAt == numbers.present { return Self.drift(from: applied, to: table) }
    guard let listing = try commands.list(GatewayTable.name) else { return .table }
    // A command that looks on finds the number only right after a change.
    if applied == nil, let present = numbers.present, note == Self.brief(present) { return .none }
    let present = applied ?? table
    guard note == Self.note(present, listing) else { return .table }
    return Self.drift(from: present, to: table)
  }

  private static func drift(from present: GatewayTable, to table: GatewayTable) -> Drift {
    if present == table { return .none }
    return switch table.changes(from: present) {
    case nil: .table
    case ""?: .none
    case let changes?: .elements(changes)
    }
  }

  /// Makes the table as wanted, and returns what had to be done.
  @discardableResult package func apply(_ table: GatewayTable) throws(NftablesError) -> Drift {
    // A restarted gateway trusts no number: the machine may have begun anew.
    let drift = applied == nil && note?.hasPrefix(Self.briefly) == true ? .table : try drift(to: table)
    switch drift {
    case .none: break
    case .elements(let changes): try commands.run(changes)
    case .table: try commands.run(table.transaction)
    }
    if drift != .none || isBrief || isKnownAt != numbers.present {
      let number = numbers.present
      if let listing = try commands.list(GatewayTable.name) {
        try? TextFile.replace(notePath, with: Array(Self.note(table, listing).utf8), mode: 0o600)
      }
      isBrief = false
      isKnownAt = numbers.present == number ? number : nil
    }
    // If nothing differs, the present one stays: a second reference would make the next change a copy of all elements.
    if drift != .none || applied == nil { applied = table }
    return drift
  }

  /// Makes the parts of some devices as wanted, where the table has their old parts. Its cost does not grow with the number of devices: the
  /// note has the ruleset's number until the next `apply`. Returns the changes; `nil`: the whole has to be compared.
  package func replace(_ old: GatewayTable, with new: GatewayTable) throws(NftablesError) -> String? {
    guard isKnownAt != nil, isKnownAt == numbers.present, let changes = applied?.replace(old, with: new) else { return nil }
    if changes.isEmpty { return changes }
    let before = isKnownAt
    isKnownAt = nil
    do throws(NftablesError) {
      try commands.run(changes)
    } catch {
      applied = nil
      throw error
    }
    // Another program's change in between makes the number unknown.
    guard let number = numbers.present, number == before.map({ $0 &+ 1 }) else { return changes }
    (isKnownAt, isBrief) = (number, true)
    try? TextFile.replace(notePath, with: Array(Self.brief(number).utf8), mode: 0o600)
    return changes
  }

  package func remove() throws(NftablesError) {
    try commands.run(GatewayTable.removal)
    try? TextFile.remove(notePath)
    applied = nil
  }

  private var note: String? { (try? TextFile.read(notePath)).map { String(decoding: $0, as: UTF8.self) } }

  private static let briefly = "number "
  private static func brief(_ number: UInt32) -> String { "\(briefly)\(number)\n" }

  private static func note(_ table: GatewayTable, _ listing: String) -> String {
    let digests = [table.transaction, GatewayTable.lasting(listing)].map { text in
      GatewayStore.digest(Array(text.utf8)).map(hexadecimal).joined()
    }
    return digests.joined(separator: " ") + "\n"
  }
}
