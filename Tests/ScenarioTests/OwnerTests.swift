import Testing

/// A tunnel that belongs to a user, with the sessions of systemd-logind.
@Suite("A tunnel with an owner", .needsLab)
struct OwnerTests {
  @Test("is up while that user is logged in, and is shown to that user and root alone") func life() throws {
    let policy = corp.replacing("class: enterprise", with: "owner: nobody\n    kill-switch: \"on\"")
    let seen = try Scene(["corp.yaml": policy], words: ["run.bash"]).play("Owner/life")
    #expect(
      seen.lines == [
        "[disconnected]", "it belongs to nobody, who is not logged in", "roamward: corp belongs to nobody, who is not logged in", "[1]",
        "[owner: corp, another: , root: corp]", "[owner: corp, another: ]", "roamward: no tunnel is named \"corp\"", "[1]", "0", "0",
        "[owner-away]", "[owner-away]", "0", "0",
      ], "\(seen)")
  }
}
