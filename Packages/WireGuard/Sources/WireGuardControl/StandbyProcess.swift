internal import CWireGuardIO
internal import Glibc
package import LinuxIO

/// A process of `roamward-wireguard` that has started, has given up its privileges, and waits for an interface: the start of the program
/// would otherwise take most of the time until a tunnel's first packet. It ends when this value is released before that.
package struct StandbyProcess {
  /// The room for the name of a link in its arguments, and for the mark in its environment: IFNAMSIZ without the zero.
  private static let room = String(repeating: "-", count: 15)

  package let process: Int32
  let end: FileDescriptor
  let offloads: Offloads

  package init(program: String, offloads: Offloads = .all) throws(SystemError) {
    let (ours, theirs) = try SocketSource.channel()
    // An interface's own arguments take its place later (`TakenInterface`). Until then it has no mark: it ends with its parent.
    process = try SpawnedProgram(
      program, [InterfaceProcess.program, "--stand-by", "--offloads", "\(offloads.rawValue)", Self.room],
      environment: ["ROAMWARD_WAIT=\(Self.room)"],
      // The interface's descriptors come later.
      descriptors: [.nothing, .nothing, .inherited, .nothing, .nothing, .nothing, .open(theirs)], company: .session
    ).start()
    end = ours
    self.offloads = offloads
  }

  /// Gives it the interface. EPIPE if the process has ended.
  func handOver(_ parts: InterfaceDescriptors) throws(SystemError) {
    let numbers = [parts.tun.number, parts.listener.number, parts.folder.number]
    guard cwg_send_descriptors(end.number, numbers, 3) == 0 else { throw .last("give a waiting process its interface") }
  }
}

/// The other side of `StandbyProcess`: the interface that a waiting process gets.
package struct TakenInterface {
  package let tun: FileDescriptor
  package let listener: FileDescriptor
  package let folder: FileDescriptor

  /// Waits for it without a time limit; `nil`: the parent has ended, or wants no interface any more.
  package init?(from channel: FileDescriptor) throws(SystemError) {
    while true {
      var watched = pollfd(fd: channel.number, events: Int16(POLLIN), revents: 0)
      guard poll(&watched, 1, -1) >= 0 || errno == EINTR else { throw .last("wait for an interface") }
      var numbers: [Int32] = [-1, -1, -1]
      var code: Int32 = 0
      let count = cwg_take_descriptors(channel.number, &numbers, 3, &code)
      if count < 0, errno == EAGAIN || errno == EINTR { continue }
      guard count == 3 else { return nil }
      tun = FileDescriptor(owning: numbers[0])
      listener = FileDescriptor(owning: numbers[1])
      folder = FileDescriptor(owning: numbers[2])
      return
    }
  }

  /// Shows the process as the one of this link, with the owner's mark, as if it had been started for it.
  package func takeTitle(of link: String, offloads: Offloads) {
    let words = Array(InterfaceProcess.arguments(of: link, offloads: offloads).joined(separator: "\0").utf8CString)
    _ = cwg_retitle(words, words.count, InterfaceProcess.mark(of: link))
  }
}
