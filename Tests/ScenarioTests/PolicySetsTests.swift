import Testing

@Suite("A command that changes the policies", .needsLab)
struct PolicySetsTests {
  @Test("makes one new set of them, though the folder tells of the files later") func once() throws {
    let seen = try Scene().run(
      #"""
      go home
      start_agent
      sets() { roamward status --json | jq .policy.generation; }
      # By the command, and by the folder.
      loaded_twice() { (($(count_in_log 'awake for=policies') >= loads + 2)); }
      changed_by() {
        before=$(sets) loads=$(count_in_log 'awake for=policies')
        roamward "$@" >/dev/null
        within 5 loaded_twice
        say "$1: $(($(sets) - before))"
      }
      changed_by trust
      sed 's/^  corp:/  other:/; s/corp.conf/other.conf/' "$policies/corp.yaml" >other.yaml
      cp "$policies/corp.conf" other.conf && chmod 0600 other.conf
      changed_by apply other.yaml
      say "$(count_in_log 'policies are active') told"
      stop_agent
      """#)
    #expect(seen.lines == ["[trust: 1]", "[apply: 1]", "[3 told]", "0"], "\(seen)")
  }
}
