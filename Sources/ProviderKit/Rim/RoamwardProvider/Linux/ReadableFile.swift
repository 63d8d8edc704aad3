internal import LinuxIO

/// A descriptor that is read while it has a handler and reading is not paused.
final class ReadableFile<Input> {
  /// `nil` when closed.
  private(set) var file: FileDescriptor?
  private(set) var handler: ((Input) -> Void)?
  private let loop: DescriptorLoop
  private var source: DescriptorLoop.Source?
  private var isPaused = false
  /// To be called when there is something to read.
  private var whenReadable: () -> Void = {}

  init(_ file: FileDescriptor, on loop: DescriptorLoop) {
    self.file = file
    self.loop = loop
  }

  func receive(_ handler: @escaping (Input) -> Void, whenReadable: @escaping () -> Void) {
    self.handler = handler
    self.whenReadable = whenReadable
    watch()
  }

  func pause() {
    isPaused = true
    watch()
  }

  func resume() {
    isPaused = false
    watch()
  }

  /// Ends reading, and leaves the descriptor open.
  func stopWatching() { source = nil }

  func close() {
    file = nil
    handler = nil
    source = nil
  }

  private func watch() {
    guard handler != nil, !isPaused, let file else { return source = nil }
    if source == nil { source = try? loop.whenReadable(file.number) { [weak self] in self?.whenReadable() } }
  }
}
