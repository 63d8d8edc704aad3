import ArgumentParser
import History
import LinuxIO
import NetworkTypes
import PolicySource
import RoamwardCore
import Terminal

extension Simulate {
  /// Lives through the recorded days with the policies in force and with others, and prints the differences.
  func compare(_ new: PolicySet, since text: String) throws {
    let now = Timestamp.now
    let from = try pastTime(text, option: "--history", now: now)
    let onDisk = try record.read()
    let old = try PolicyOptions(folders: against).load()
    let history = onDisk.revealed(by: PolicySet(networks: old.networks + new.networks, tunnels: old.tunnels + new.tunnels))
    let names = trusted.isEmpty ? old.networks.map(\.name) : trusted
    for name in trusted where !old.networks.contains(where: { $0.name == name }) {
      let known = old.networks.map(\.name).joined(separator: ", ")
      throw ValidationError("--trusted \(name): no network has this name; the policies in force have \(known.isEmpty ? "none" : known)")
    }
    let (before, after) = (Life(history, policies: old, from: from, to: now), Life(history, policies: new, from: from, to: now))
    let comparison = Comparison(before, after, history) { history.isTrusted($0, names: names, of: old) }
    if let html {
      try writePage(comparisonPage(comparison, before, after, history, from: from, to: now, .machine), to: html)
    } else {
      write(comparison.text(.machine))
    }
    write(remarks(onDisk, history, old, new, from: from, to: now, names: names).map { $0 + "\n" }.joined())
  }

  /// The limits of the comparison, a line each.
  private func remarks(
    _ onDisk: RecordOnDisk, _ history: RecordedHistory, _ old: PolicySet, _ new: PolicySet, from: Timestamp, to: Timestamp, names: [String]
  ) -> [String] {
    var lines = ["trusted networks: \(names.isEmpty ? "none" : names.joined(separator: ", "))"]
    let replay = Replay(history, policies: old, identification: onDisk.identification(of: old))
    for other in replay.others where from <= other.to {
      lines.append(
        "\(other.from.localTime) to \(other.to.localTime): \(other.decisions) decisions were made by other policies than those in force now"
      )
    }
    if !replay.differences.isEmpty {
      lines.append("\(replay.differences.count) recorded decisions are not reproduced: `roamward history --replay`")
    }
    lines += history.gaps(from: from, to: to).map { $0.text(.machine) }
    for tunnel in new.tunnels {
      let facts = history.leftOut(for: tunnel, of: new).map(\.rawValue).sorted()
      if facts.isEmpty { continue }
      lines.append("the times of \(tunnel.name) are not certain: \(facts.joined(separator: ", ")) unknown in the record")
    }
    lines += history.leftOut(for: new, known: history.policies).map { "missing in the record: \($0)" }
    return lines + history.defects
  }
}
