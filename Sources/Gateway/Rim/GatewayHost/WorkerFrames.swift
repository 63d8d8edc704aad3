internal import ConfinedProcess
internal import LinuxIO
internal import LoginProtocol

// The gateway's workers get and say frames, one in each message.

extension LoginFrame {
  /// Reads a message of a worker.
  init(message: [UInt8]) throws(LoginFrameError) { try self.init(body: message.dropFirst(2)) }
}

extension WorkerRun {
  func send(_ frame: LoginFrame) { send(frame.bytes) }
}

extension WorkerSupervisor {
  func send(_ frame: LoginFrame, passing file: FileDescriptor? = nil) { send(frame.bytes, passing: file) }
}
