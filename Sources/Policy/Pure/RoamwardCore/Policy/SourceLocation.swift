/// A place in a file that a person wrote. Lines and columns count from 1; columns count characters.
package struct SourceLocation: Hashable, Sendable, CustomStringConvertible {
  package let file: String
  package let line: Int
  package let column: Int

  package init(file: String, line: Int, column: Int) {
    self.file = file
    self.line = line
    self.column = column
  }

  /// `FILE:LINE:COLUMN`, as compilers print it.
  package var description: String { "\(file):\(line):\(column)" }

  /// `10-corp.yaml:22`: the file's last component and the line, for one-line reports.
  package var short: String { "\(file.split(separator: "/").last.map(String.init) ?? file):\(line)" }
}
