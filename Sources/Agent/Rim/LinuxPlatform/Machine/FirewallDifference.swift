internal import CLinux
package import KernelModel
internal import KernelNetwork

extension LinuxMachine {
  /// The differences between our table and the listing of this one: missing lines and extra lines. The calling thread moves to an empty
  /// network namespace and stays there; `nil` if it may not.
  package func firewallDifference(from table: FirewallTable) -> (missing: [String], extra: [String])? {
    guard let found = firewall.backend?.lines, clinux_new_network() == 0, let scratch = try? firewall.open(),
      (try? scratch.replace(table)) != nil,
      let wanted = scratch.lines
    else { return nil }
    let difference = found.difference(from: wanted)
    func text(_ change: CollectionDifference<String>.Change) -> String {
      switch change {
      case .insert(_, let line, _), .remove(_, let line, _): line
      }
    }
    return (difference.removals.map(text), difference.insertions.map(text))
  }
}
