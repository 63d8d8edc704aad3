import Glibc
import KernelModel
import LinuxIO
import NetworkTypes
import ProviderGroups
import SeededRandom
import TestSupport
import Testing

/// Whether sockets can be marked here. A namespace of its own keeps each test's groups apart from others.
private let canMark = canMakeNamespaces && ProviderGroups.absence() == nil

@Suite("The control groups of providers", .enabled(if: canMark, "marking sockets needs root, CONFIG_CGROUP_BPF and a version 2 hierarchy"))
struct ProviderGroupsTests {
  /// Runs a body in a network namespace of its own; afterwards no group may be left.
  private func withGroups(_ body: (ProviderGroups) throws -> Void) throws {
    try inNamespaces {
      let groups = ProviderGroups(note: nil)
      try #require(groups.prepare().group != nil, "\(groups.state)")
      let name = try #require(groups.name)
      do { try body(groups) } catch {
        groups.tunnels.forEach { groups.existingGroup(of: $0)?.kill() }
        groups.removeUnused()
        throw error
      }
      #expect(groups.removeUnused())
      #expect(throws: SystemError.self) { try OpenControlGroup.root().descendant(name) }
    }
  }

  /// Runs a program of Python in a tunnel's group, or outside of any; gives what it wrote.
  private func python(_ text: String, in group: OpenControlGroup?) throws -> [String] {
    let folder = try TemporaryFolder()
    let output = open("\(folder.path)/output", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    try #require(output >= 0)
    let file = FileDescriptor(owning: output)
    let process = try SpawnedProgram(
      "python3", ["python3", "-c", text], environment: ["PATH=/usr/bin:/bin"],
      descriptors: [.nothing, .open(file), .open(file)], company: .group, group: group?.folder
    ).start()
    #expect(waitpid(process, nil, 0) == process)
    return String(decoding: try TextFile.read("\(folder.path)/output"), as: UTF8.self).split(separator: "\n").map(String.init)
  }

  private func wait(_ condition: () -> Bool) -> Bool {
    let end = Moment.now + .seconds(20)
    while !condition() {
      if Moment.now > end { return false }
      usleep(2000)
    }
    return true
  }

  private static let sockets = """
    import os, socket
    SO_MARK = 36
    def mark(s): return hex(s.getsockopt(socket.SOL_SOCKET, SO_MARK))
    os.system('ip link set lo up')
    made = [(f, t, p) for f in (socket.AF_INET, socket.AF_INET6) for t, p in (
      (socket.SOCK_DGRAM, 0), (socket.SOCK_STREAM, 0), (socket.SOCK_RAW, 255), (socket.SOCK_STREAM, 262))]
    for f, t, p in made:
      try: print(f.name, t.name, p, mark(socket.socket(f, t, p)))
      except OSError as e:
        if p != 262: raise
    listener = socket.create_server(('127.0.0.1', 0))
    client = socket.create_connection(listener.getsockname())
    print('accepted', 0, 0, mark(listener.accept()[0]))
    print('child', 0, 0, os.popen("python3 -c 'import socket; print(hex(socket.socket().getsockopt(1, 36)))'").read().strip())
    """

  @Test("give every internet socket the mark at its creation, of each family and kind, and of child processes")
  func marks() throws {
    try withGroups { groups in
      let seen = try python(Self.sockets, in: groups.group(of: "work")).map { $0.split(separator: " ").map(String.init) }
      #expect(seen.count >= 8)
      for line in seen { #expect(line.last == "0x52000000", "\(line)") }
      // It would send by sockets of the kernel, without the mark.
      #expect(!seen.contains { $0.count > 2 && $0[2] == "262" })
      for line in try python(Self.sockets, in: nil).map({ $0.split(separator: " ") }) { #expect(line.last == "0x0", "\(line)") }
    }
  }

  @Test("mark a socket before its first packet and its choice of a source address")
  func firstPacket() throws {
    try withGroups { groups in
      try shell(
        """
        ip link set lo up; ip link add a0 type veth peer name b0; ip link set b0 up; ip link set a0 up
        ip addr add 192.0.2.2/24 dev a0; ip addr add 198.51.100.2/24 dev a0
        ip route add default via 192.0.2.1; ip route add default via 198.51.100.1 table 5
        ip rule add fwmark 0x52000000/0xff000000 table 5
        nft 'table inet t { chain c { type filter hook output priority 0; udp dport 9 meta mark 0x52000000 counter; udp dport 9 meta mark != 0x52000000 counter; }; }'
        """)
      let text = """
        import socket
        for i in range(100):
          s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('203.0.113.9', 9)); s.send(b'x')
        print(s.getsockname()[0])
        """
      #expect(try python(text, in: groups.group(of: "work")) == ["198.51.100.2"])
      let counted = try shell("nft list table inet t | grep -o 'packets [0-9]*'").split(separator: "\n")
      #expect(counted == ["packets 100", "packets 0"])
      #expect(try python(text, in: nil) == ["192.0.2.2"])
    }
  }

  @Test("do not let an unprivileged process clear the mark")
  func unprivileged() throws {
    try withGroups { groups in
      let text = """
        import os, socket
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for value in (0, 0x53000000):
          try: s.setsockopt(socket.SOL_SOCKET, 36, value); print('set')
          except PermissionError: print(hex(s.getsockopt(socket.SOL_SOCKET, 36)))
        """
      let seen = try python(text, in: groups.group(of: "work"))
      #expect(seen == ["0x52000000", "0x52000000"])
    }
  }

  @Test("are killed with everything in them, in whatever session, and tell what they use")
  func kill() throws {
    try withGroups { groups in
      let group = try groups.group(of: "work")
      #expect(!group.isPopulated)
      _ = try python(
        """
        import os, time
        for i in range(20):
          if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
              x = bytearray(1 << 20); end = time.process_time() + 0.02
              while time.process_time() < end: pass
              time.sleep(600)
            os._exit(0)
        for i in range(20): os.wait()
        """, in: group)
      #expect(wait { group.processes.count == 20 })
      #expect(group.isPopulated)
      #expect(wait { (group.usage?.processorTime ?? .zero) >= .milliseconds(400) })
      let usage = try #require(group.usage)
      #expect(usage.memory > 20 << 20 && usage.memory < 2 << 30, "\(usage)")
      #expect(groups.tunnels == ["work"])
      group.kill()
      #expect(wait { !group.isPopulated })
      #expect(group.processes.isEmpty)
      groups.remove("work")
      #expect(groups.tunnels == [])
    }
  }

  @Test("outlive their agent, whose successor finds them by the note, with mark and processes")
  func adopted() throws {
    try inNamespaces {
      let folder = try TemporaryFolder()
      let note = "\(folder.path)/group"
      var first: ProviderGroups? = ProviderGroups(note: note)
      let before = try #require(first?.prepare().group)
      let work = try #require(first).group(of: "work")
      _ = try python("import os, time\nif os.fork() == 0:\n  os.setsid(); time.sleep(600)", in: work)
      first = nil

      let next = ProviderGroups(note: note)
      #expect(next.state == .unexamined)
      #expect(next.find() == .ready(before))
      #expect(next.tunnels == ["work"])
      #expect(!next.removeUnused())
      #expect(next.prepare() == .ready(before))
      let group = try #require(next.existingGroup(of: "work"))
      #expect(group.processes.count == 1)
      #expect(try python("import socket; print(hex(socket.socket().getsockopt(1, 36)))", in: group) == ["0x52000000"])
      group.kill()
      #expect(wait { !group.isPopulated })
      // An agent that was killed while it wrote the note leaves an unfinished one.
      try TextFile.replace("\(note)\(TextFile.temporarySuffix)", with: [], mode: 0o600)
      #expect(next.removeUnused())
      #expect(names(in: folder.path) == [])
      #expect(ProviderGroups(note: note).find() == .unexamined)
    }
  }

  /// The slice stands for that of systemd, which makes such a group at the root.
  @Test("a slice of a unit has the mark of its tunnel; one that was made anew under its name is not taken for it")
  func slices() throws {
    try withGroups { groups in
      let root = try OpenControlGroup.root()
      let name = ProviderGroups.slice(of: "the-lab")
      #expect(throws: ProviderGroupError.self) { try groups.markSlice(of: "the-lab", Ownership.mark) }
      _ = try root.makeChild(name)
      defer { try? root.removeChild(name) }
      #expect(!groups.isSliceMarked(of: "the-lab"))
      try groups.markSlice(of: "the-lab", Ownership.innerMark(of: 6))
      let unit = try root.child(name).makeChild("lab.service")
      #expect(try python("import socket; print(hex(socket.socket().getsockopt(1, 36)))", in: unit) == ["0x52800007"])
      try groups.markSlice(of: "the-lab", Ownership.mark)
      #expect(try python("import socket; print(hex(socket.socket().getsockopt(1, 36)))", in: unit) == ["0x52000000"])
      let group = try #require(groups.existingSlice(of: "the-lab"))
      guard case .ready(_, let units) = groups.state else { return #expect(Bool(false), "\(groups.state)") }
      #expect(units == [ProviderGroup(number: group.number, level: 1)] && groups.descriptor(of: group.number) == group.folder.number)
      // The next agent finds it by its name.
      let next = ProviderGroups(note: nil)
      #expect(next.find().all.last == units[0] && next.unitTunnels == ["the-lab"] && next.isSliceMarked(of: "the-lab"))
      try root.removeChild(name)
      _ = try root.makeChild(name)
      #expect(!groups.isSliceMarked(of: "the-lab"))
      groups.forgetSlice(of: "the-lab")
      #expect(groups.state.all.count == 1)
    }
  }

  @Test("each tunnel's name is that of one slice, at the root, and back") func sliceNames() {
    var random = SplitMix64(seed: 59)
    let letters = Array("abzAZ019._-")
    var seen: [String: String] = [:]
    for _ in 0..<2000 {
      let tunnel = String((0..<Int.random(in: 1...64, using: &random)).map { _ in letters.randomElement(using: &random) ?? "a" })
      let slice = ProviderGroups.slice(of: tunnel)
      #expect(!slice.contains("-") && slice.utf8.count <= 255 && ProviderGroups.tunnel(ofSlice: slice) == tunnel)
      #expect(seen.updateValue(tunnel, forKey: slice) ?? tunnel == tunnel)
    }
    for other in ["system.slice", "roamward_1_work.slice", ProviderGroups.slice(of: ""), "roamward.slice", ""] {
      #expect(ProviderGroups.tunnel(ofSlice: other) == nil, "\(other)")
    }
  }

  @Test("are made again, with the mark and another number, after another program has removed them")
  func removedByOthers() throws {
    try withGroups { groups in
      let before = try #require(groups.state.group)
      let name = try #require(groups.name)
      let parent = try OpenControlGroup.root().descendant(name)
      try parent.removeChild("outside")
      let group = try groups.group(of: "work")
      #expect(try python("import socket; print(hex(socket.socket().getsockopt(1, 36)))", in: group) == ["0x52000000"])
      #expect(groups.state.group != before && groups.state.group?.level == before.level)
      // The note and the folder are found again.
      #expect(groups.name == name)
    }
  }

  @Test("start programs as others are started: descriptors, session, umask, and an error if there is no program")
  func programs() throws {
    try withGroups { groups in
      let group = try groups.group(of: "work")
      let text = """
        import os, signal
        print(sorted(os.listdir('/proc/self/fd'))[:3], len(os.listdir('/proc/self/fd')))
        print(os.getpid() == os.getpgid(0), os.getsid(0) == os.getpid())
        print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)
        print([l for l in open('/proc/self/cgroup').read().split('\\n') if l.startswith('0::')][0][3:])
        """
      // listdir itself has one open.
      #expect(try python(text, in: group) == ["['0', '1', '2'] 4", "True False", "set() True", group.name])
      let failure = #expect(throws: SystemError.self) {
        try SpawnedProgram("/no/such", ["/no/such"], environment: [], descriptors: [.nothing], company: .group, group: group.folder).start()
      }
      #expect(failure?.code == ENOENT)
      #expect(wait { !group.isPopulated })
    }
  }
}

@Suite("The version 2 hierarchy", .enabled(if: canMark, "needs root"))
struct HierarchyTests {
  @Test("is mounted for this process alone where it is in no folder, and carries nftables' rules on a group")
  func privateMount() throws {
    try inNamespaces(mounts: true) {
      try shell("true")
      let hidden = try TemporaryFolder()
      try bind(hidden.path, over: "/sys/fs/cgroup")
      #expect(access("/sys/fs/cgroup/unified", F_OK) != 0)
      let groups = ProviderGroups(note: nil)
      let group = try #require(groups.prepare().group)
      let number = try #require(groups.descriptor(of: group.number))
      // As the agent does, whose libnftables looks below /sys/fs/cgroup alone.
      try shell(
        """
        nft 'table inet t { chain c { type filter hook output priority 0; \
        socket cgroupv2 level \(group.level) "../../../proc/\(getpid())/fd/\(number)" accept; }; }'
        """)
      #expect(try shell("nft -n list table inet t").contains("socket cgroupv2 level \(group.level) \(group.number) accept"))
      #expect(groups.removeUnused())
    }
  }
}
