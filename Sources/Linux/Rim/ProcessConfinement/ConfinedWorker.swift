internal import Glibc
package import LinuxIO

/// A process that reads the bytes of strangers, by what it keeps: the one start of all such programs, so that none gives up its rights in
/// another order.
package struct ConfinedWorker: Sendable {
  /// The system user that it switches to. Each program has one of its own: processes of one user may signal one another.
  package let user: String
  /// The largest number of open descriptors.
  let descriptors: Int
  /// The largest amount of anonymous memory, in bytes.
  let memory: Int
  /// The folders of files that it may read; `nil`: all that its user may.
  let folders: [String]?
  /// The system calls of its work.
  let filter: @Sendable () throws(SystemError) -> SystemCallFilter

  package init(
    user: String, descriptors: Int, memory: Int, folders: [String]? = nil,
    filter: @escaping @Sendable () throws(SystemError) -> SystemCallFilter
  ) {
    self.user = user
    self.descriptors = descriptors
    self.memory = memory
    self.folders = folders
    self.filter = filter
  }

  /// Takes the channel that the parent has passed, and runs `body`. The parent gets `hello` with the error of a body that fails.
  ///
  /// - Parameter isHidden: the channel gets another number, and writes to the usual one reach nothing: for foreign code in the process.
  package static func onChannel(
    isHidden: Bool = false, hello: ((_ trouble: String) -> [UInt8])?, _ body: (MessageChannel) throws(SystemError) -> Void
  ) throws(SystemError) {
    let channel = try inherited(isHidden: isHidden)
    do throws(SystemError) {
      try body(channel)
    } catch {
      if let hello { try? channel.send(hello(error.description)) }
      throw error
    }
  }

  private static func inherited(isHidden: Bool) throws(SystemError) -> MessageChannel {
    guard isHidden else {
      let file = FileDescriptor(owning: MessageChannel.inheritedNumber)
      _ = fcntl(file.number, F_SETFD, FD_CLOEXEC)
      return MessageChannel(file)
    }
    let number = fcntl(MessageChannel.inheritedNumber, F_DUPFD_CLOEXEC, 32)
    guard number >= 0 else { throw .last("keep the channel") }
    dup2(STDOUT_FILENO, MessageChannel.inheritedNumber)
    return MessageChannel(FileDescriptor(owning: number))
  }

  /// Confines this process, irrevocably, in this order: privileges and user, the life of the parent, files, limits, system calls.
  ///
  /// - Parameters:
  ///   - withParent: the process ends with its parent; a check has none.
  ///   - open: opens and connects what needs more system calls than the work does; everything else holds already.
  package func confine<Opened>(withParent: Bool, _ open: () throws(SystemError) -> Opened) throws(SystemError) -> Opened {
    try Confinement.giveUpPrivileges(becoming: user)
    if withParent { try Confinement.endWithParent() }
    if let folders { try Confinement.readFiles(below: folders) }
    let filter = try filter()
    try Confinement.limit(descriptors: descriptors, memory: memory)
    let opened = try open()
    let result = filter.load()
    guard result == 0 else { throw SystemError(code: result, operation: "confine system calls") }
    return opened
  }

  package func confine(withParent: Bool) throws(SystemError) {
    try confine(withParent: withParent) { () throws(SystemError) in }
  }
}
