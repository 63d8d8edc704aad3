import Glibc
import KernelModel
import LinuxIO
import NetworkTypes
import RoamwardCore
import TestSupport
import Testing

@testable import HostDNS

/// Lets the agent die at one of its changes to files: before the change, or in the middle of it where it has one.
private final class Death {
  /// `swapped`: of two that change places, once they have, and what came out has not been dealt with yet.
  enum Moment: CaseIterable { case before, within, swapped }
  struct Died: Error {}

  private let step: Int
  private let moment: Moment
  private var count = 0
  private let renames: Bool
  private(set) var hasDied = false

  init(at step: Int, _ moment: Moment, renames: Bool) {
    self.step = step
    self.moment = moment
    self.renames = renames
  }

  func operations(over path: String) -> FileOperations {
    let real = FileOperations.real
    return FileOperations(
      replace: { name, bytes, file throws(SystemError) in
        if name == path, !self.renames { throw SystemError(code: EBUSY, operation: "replace") }
        try self.perform(within: { try? TextFile.replace(name + ".roamward-new", with: [1], mode: 0o600) }) { () throws(SystemError) in
          try real.replace(name, bytes, file)
        }
      },
      exchange: { name, bytes, file, isExpected throws(SystemError) in
        if name == path, !self.renames { throw SystemError(code: EBUSY, operation: "replace") }
        var isDone = false
        try self.perform(within: {
          if self.moment == .within {
            try? TextFile.replace(name + ".roamward-new", with: Array(bytes.prefix(1)), mode: 0o600)
          } else {
            try? TextFile.replace(name + ".other", with: bytes, mode: file.mode)
            _ = rename(name, name + ".roamward-new")
            _ = rename(name + ".other", name)
          }
        }) { () throws(SystemError) in isDone = try real.exchange(name, bytes, file, isExpected) }
        return isDone
      },
      takeAway: { name, isExpected throws(SystemError) in
        if name == path, !self.renames { throw SystemError(code: EBUSY, operation: "remove") }
        var isDone = false
        try self.perform(within: {}) { () throws(SystemError) in isDone = try real.takeAway(name, isExpected) }
        return isDone
      },
      overwrite: { name, bytes throws(SystemError) in
        try self.perform(within: { try? real.overwrite(name, Array(bytes.prefix(bytes.count / 2))) }) { () throws(SystemError) in
          try real.overwrite(name, bytes)
        }
      },
      remove: { name throws(SystemError) in
        if name == path, !self.renames { throw SystemError(code: EBUSY, operation: "remove") }
        try self.perform(within: {}) { () throws(SystemError) in try real.remove(name) }
      },
      putBack: { name, path throws(SystemError) in
        try self.perform(within: {}) { () throws(SystemError) in try real.putBack(name, path) }
      })
  }

  private func perform(within half: () -> Void, _ whole: () throws(SystemError) -> Void) throws(SystemError) {
    defer { count += 1 }
    if !hasDied, count == step {
      hasDied = true
      if moment != .before { half() }
    }
    // The dead do nothing any more, not even clean up.
    if hasDied { throw SystemError(code: EINTR, operation: "die") }
    try whole()
  }
}

@Suite("The resolv.conf backend, killed at each of its steps")
struct ResolvConfCrashTests {
  /// Originals of every kind: none, an empty one, one shorter and one longer than ours.
  static let originals: [String?] = [nil, "", "nameserver 192.0.2.1\n", String(repeating: "# a long comment\n", count: 30)]

  @Test("the new agent restores exactly, whatever was going on", arguments: originals, [true, false])
  func restores(original: String?, renames: Bool) throws {
    // A file over which nothing can be renamed is always there.
    if original == nil, !renames { return }
    for moment in Death.Moment.allCases {
      var step = 0
      while try run(original, renames: renames, diesAt: step, moment, thenWrites: false) { step += 1 }
      #expect(step > 4)
    }
  }

  @Test("the new agent writes anew, and restores exactly afterwards", arguments: originals, [true, false])
  func writesAgain(original: String?, renames: Bool) throws {
    if original == nil, !renames { return }
    for moment in Death.Moment.allCases {
      var step = 0
      while try run(original, renames: renames, diesAt: step, moment, thenWrites: true) { step += 1 }
    }
  }

  /// Writes twice and restores, dying at `step`; then a new agent takes over. False where there was no such step.
  private func run(_ original: String?, renames: Bool, diesAt step: Int, _ moment: Death.Moment, thenWrites: Bool) throws -> Bool {
    let host = try ResolvConfHost()
    if let original { try host.put(original, mode: 0o640) }
    let before = host.found
    let death = Death(at: step, moment, renames: renames)
    let dying = ResolvConfBackend(path: host.path, stateDirectory: host.state, files: death.operations(over: host.path))
    do {
      try dying.write(tunnelServers)
      try dying.write(otherServers)
      try dying.restore()
    } catch {
      #expect(death.hasDied, "\(error)")
    }
    guard death.hasDied else { return false }

    // At no point may the kept original be ours, or what others see be neither theirs nor ours.
    let seen = host.backend.observe()
    #expect(
      [.file(tunnelServers.rendered), .file(otherServers.rendered), original.map { .file($0) } ?? .absent].contains(seen),
      "step \(step) \(moment): \(seen)")
    #expect(host.backend.underlayText() == .known(original ?? ""), "step \(step) \(moment)")

    let living =
      renames
      ? host.backend
      : ResolvConfBackend(
        path: host.path, stateDirectory: host.state, files: Death(at: .max, .before, renames: false).operations(over: host.path))
    try living.recover()
    #expect(living.observe() == seen, "step \(step) \(moment): recovering changed what is seen")
    if thenWrites {
      try living.write(tunnelServers)
      #expect(living.observe() == .file(tunnelServers.rendered))
    }
    try living.restore()
    #expect(host.found == before, "step \(step) \(moment)")
    #expect(host.leftovers == [], "step \(step) \(moment)")
    return true
  }
}

@Suite("A resolv.conf that is a bind mount", .enabled(if: canMakeNamespaces, "no namespaces here"))
struct ResolvConfBindMountTests {
  @Test("is written and restored in place")
  func bindMount() throws {
    let host = try ResolvConfHost()
    try inNamespaces(mounts: true) {
      try host.put("nameserver 192.0.2.1\n", mode: 0o640)
      let below = host.folder.path + "/below"
      try TextFile.replace(below, with: Array("nameserver 192.0.2.2\n".utf8), mode: 0o604)
      try bind(below, over: host.path)
      try host.backend.write(tunnelServers)
      #expect(host.backend.observe() == .file(tunnelServers.rendered))
      #expect(try TextFile.read(below) == Array(tunnelServers.rendered.utf8))
      #expect(host.backend.watchPaths.contains { $0.path == host.path && $0.name == nil })
      try host.backend.restore()
      #expect(try TextFile.read(below) == Array("nameserver 192.0.2.2\n".utf8))
      #expect(host.found?.hasPrefix("604 ") == true)
      #expect(host.leftovers == [])
    }
  }
}
