internal import CWireGuardIO
internal import Glibc
package import LinuxIO

/// A process of `roamward-wireguard` that has started, has given up its privileges, and waits for an interface: the start of the program
/// would otherwise take most of the time until a tunnel's first packet. It ends when this value is released before that.
package struct StandbyProcess {
  /// The room for the name of a link in the mark in its environment: IFNAMSIZ without the zero.
  private static let room = String(repeating: "-", count: 15)
  /// The room for the name and the number of pairs in its arguments.
  private static let argumentRoom = room + " --pairs 16".map { _ in "-" }

  package let process: Int32
  let end: FileDescriptor
  let offloads: Offloads
  let pairs: Int

  /// `isAttached`: its interface ends too when what has taken this value is released. `pairs`: the most pairs of threads that carry
  /// packets; `nil`: one for each processor.
  package init(program: String, offloads: Offloads = .all, pairs: Int? = nil, isAttached: Bool = false) throws(SystemError) {
    let (ours, theirs) = try SocketSource.channel()
    self.pairs = pairs ?? InterfaceProcess.defaultPairs
    var arguments = [InterfaceProcess.program, "--stand-by", "--offloads", "\(offloads.rawValue)", "--pairs", "\(self.pairs)"]
    if isAttached { arguments.append("--attached") }
    // An interface's own arguments take its place later (`TakenInterface`). Until then it has no mark: it ends with its parent.
    process = try SpawnedProgram(
      program, arguments + [Self.argumentRoom], environment: ["ROAMWARD_WAIT=\(Self.room)"],
      // The interface's descriptors come later.
      descriptors: [.nothing, .nothing, .inherited, .nothing, .nothing, .nothing, .open(theirs)], company: .session
    ).start()
    end = ours
    self.offloads = offloads
  }

  /// Gives it the interface. EPIPE if the process has ended.
  func handOver(_ parts: InterfaceDescriptors) throws(SystemError) {
    let numbers = ([parts.listener, parts.folder] + parts.queues).map(\.number)
    guard cwg_send_descriptors(end.number, numbers, Int32(numbers.count)) == 0 else { throw .last("give a waiting process its interface") }
  }
}

/// The other side of `StandbyProcess`: the interface that a waiting process gets.
package struct TakenInterface {
  package let queues: [FileDescriptor]
  package let listener: FileDescriptor
  package let folder: FileDescriptor

  /// Waits for it without a time limit; `nil`: the parent has ended, or wants no interface any more.
  package init?(from channel: FileDescriptor) throws(SystemError) {
    while true {
      var watched = pollfd(fd: channel.number, events: Int16(POLLIN), revents: 0)
      guard poll(&watched, 1, -1) >= 0 || errno == EINTR else { throw .last("wait for an interface") }
      var numbers = [Int32](repeating: -1, count: Int(CWG_DESCRIPTORS))
      var code: Int32 = 0
      let count = cwg_take_descriptors(channel.number, &numbers, Int32(numbers.count), &code)
      if count < 0, errno == EAGAIN || errno == EINTR { continue }
      let given = numbers.prefix(max(0, Int(count))).map { FileDescriptor(owning: $0) }
      guard given.count >= 3 else { return nil }
      (listener, folder, queues) = (given[0], given[1], Array(given[2...]))
      return
    }
  }

  /// Shows the process as the one of this link, with the owner's mark, as if it had been started for it.
  package func takeTitle(of link: String, offloads: Offloads) {
    let words = Array(InterfaceProcess.arguments(of: link, offloads: offloads, pairs: queues.count).joined(separator: "\0").utf8CString)
    _ = cwg_retitle(words, words.count, InterfaceProcess.mark(of: link))
  }
}
