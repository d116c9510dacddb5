"""What several causes share and only they need."""
