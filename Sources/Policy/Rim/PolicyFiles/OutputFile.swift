/// A file that an import creates.
package struct OutputFile: Hashable, Sendable {
  /// A name in the folder of the output, without a slash.
  package var name: String
  package var bytes: [UInt8]
  /// True if only root may read it (mode 0600), from its creation on.
  package var isSecret: Bool

  package init(name: String, bytes: [UInt8], isSecret: Bool) {
    self.name = name
    self.bytes = bytes
    self.isSecret = isSecret
  }
}
