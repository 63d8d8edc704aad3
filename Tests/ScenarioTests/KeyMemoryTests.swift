import Testing

/// Keys in the memory of the agent and of its engine: one copy each, locked; none after the tunnel is gone. The memory is searched from
/// outside, by root.
@Suite("Keys in memory", .needsLab)
struct KeyMemoryTests {
  @Test("the agent has each key once, in locked memory, and none after its tunnel is gone; no text of a key stays anywhere")
  func oneCopy() throws {
    let scene = try Scene()
    let seen = try scene.play("KeyMemory/one-copy")
    #expect(
      seen.lines == [
        "[connected: 1]", "[locked]", "[moved: 1]", "[last known good: 1]", "[read from the state folder: 1]", "[on trial: 1]",
        "[removed: 0]",
      ], "\(seen)")
  }

  @Test("where no memory may be locked the agent has each key once all the same, and none after its tunnel is gone")
  func withoutLocking() throws {
    let scene = try Scene()
    let seen = try scene.play("KeyMemory/without-locking")
    #expect(seen.lines == ["[VmLck:0kB]", "[connected: 1]", "[removed: 0]"], "\(seen)")
  }

  @Test("a thousand preshared keys take 64 KiB of locked memory at most, which is all that some systems allow") func manyKeys() throws {
    let scene = try Scene(["corp.yaml": corp])
    let seen = try scene.play("KeyMemory/many-keys")
    #expect(seen.lines == ["[among a thousand: 1]"], "\(seen)")
  }
}
