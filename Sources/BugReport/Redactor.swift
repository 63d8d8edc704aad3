package struct Redactor {}
