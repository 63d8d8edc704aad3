import Testing

/// The agent's programs have other users, and its unit has no CAP_KILL: a signal that a test as root sends, the installed agent may not.
@Suite struct SignalTests {
  /// Whether a text signals a process by kill(2) itself.
  static func signals(_ text: String) -> Bool { text.contains(/(?:^|[^.a-zA-Z_])(?:Glibc\.)?kill\([^)]/) }

  @Test("the agent signals by one function, which may") func sources() {
    for file in allSources() where file.name.contains("Sources/Agent/") { #expect(!Self.signals(file.text), "\(file.name)") }
  }

  @Test("the check sees a signal, and no method of that name") func detector() {
    #expect(Self.signals("kill(process, SIGKILL)") && Self.signals("_ = Glibc.kill(-group, SIGTERM)"))
    #expect(!Self.signals("runner.kill(at: now)") && !Self.signals("func kill()") && !Self.signals("Privileges.signal(process, SIGKILL)"))
  }
}
