import Testing

/// The other writers of resolv.conf, and the kinds of file that it is. However the agent ends, the file finally has, to the byte, the
/// content that another program wrote last.
@Suite("resolv.conf", .needsLab)
struct ResolverFileTests {
  @Test(
    "written anew fifty times a second is set again ever more seldom, and that is told; what was written last stays, also after SIGKILL")
  func rewritten() throws {
    let seen = try Scene().play("ResolverFile/rewritten")
    #expect(seen.lines == Array(repeating: ["[taken away, 1]", "[theirs]"], count: 2).flatMap { $0 })
  }

  @Test("that is a link every other time ends as the link that somebody has made, and what it leads to is as it was")
  func linked() throws {
    let seen = try Scene().play("ResolverFile/linked")
    #expect(seen.lines == ["[told]", "[a link]", "connected", "nameserver 192.0.2.99", "lock"])
  }

  @Test(
    "in a folder that cannot be written is left alone and told of, and written when it can be; what cannot be put back is told, and put back later"
  )
  func readOnly() throws {
    let seen = try Scene().play("ResolverFile/read-only")
    #expect(seen.lines == ["name servers are not applied", "[untouched]", "[noticed by itself]", "0", "[told]", "[theirs]"])
  }

  @Test("on a disk that is full, or with notes on one, is written when there is room, and given back where there is none")
  func noRoom() throws {
    let seen = try Scene().play("ResolverFile/no-room")
    let once = ["name servers are not applied: write: No space left on device", "[untouched]", "[ours]", "0", "[theirs]"]
    #expect(seen.lines == once + once + ["lock"])
  }

  @Test(
    "comes back after SIGKILL and a start of the machine, before anything asks for a name: the file, a bind mount, or what the next network has written",
    arguments: ["", "mount --bind $file $file"], ["start_agent", "go home; start_agent", "cleanup_agent"])
  func restarted(_ mount: String, _ start: String) throws {
    let seen = try Scene().play(
      "ResolverFile/restarted",
      with: [
        "MOUNT": mount, "START": mount.isEmpty ? start : start.replacing("go home; ", with: ""),
        "AT_HOME": mount.isEmpty && start.hasPrefix("go home") ? "yes" : "",
      ])
    #expect(Array(seen.lines.prefix(3)) == ["[ours]", "[still ours]", "[theirs]"])
    #expect(!seen.contains("resolv.conf"))
  }
}

extension String {
  fileprivate func replacing(_ part: String, with other: String) -> String {
    hasPrefix(part) ? other + dropFirst(part.count) : self
  }
}
